import { test } from 'vitest'
import { checkHistories } from './play-history.ts'

test('20,000 random histories break no rule of a call', { timeout: 600_000 }, () => checkHistories(20_000))
