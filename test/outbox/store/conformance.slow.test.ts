/** The suite that defines a store, run for SQLite in a file that several connections share. */
import { test } from 'vitest'
import { endpointStoreConformance, outboxStoreConformance } from '../../../src/outbox/testing/index.ts'
import { openSqliteFile } from './open-sqlite.ts'

for (const { name, run } of [
	...outboxStoreConformance(openSqliteFile),
	...endpointStoreConformance(openSqliteFile),
])
	test(name, run)
