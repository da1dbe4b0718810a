import { test } from 'vitest'
import { checkHistories } from './play-history.ts'

test('400 random histories break no rule of a call', () => checkHistories(400))
