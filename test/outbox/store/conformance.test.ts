/** The suite that defines a store, run for SQLite: in memory, and in a file that several connections share. */
import { describe, test } from 'vitest'
import { storeConformance } from '../../../src/outbox/testing/index.ts'
import { openSqliteFile, openSqliteMemory } from './open-sqlite.ts'

describe.each([
	['SQLite in memory', openSqliteMemory],
	['SQLite in a file', openSqliteFile],
])('%s', (_, open) => {
	for (const { name, run } of storeConformance(open)) test(name, run)
})
