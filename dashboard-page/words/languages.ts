import type { Language } from '../../src/dashboard/words/words.ts'
import type { PageWords } from './words.ts'
import { en } from './words-en.ts'
import { ja } from './words-ja.ts'

export const LANGUAGES: Readonly<Record<Language, PageWords>> = { en, ja }
