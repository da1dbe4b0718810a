/** The suite that defines a store, run for SQLite in memory. conformance.slow.test.ts runs it for a file. */
import { test } from 'vitest'
import { endpointStoreConformance, outboxStoreConformance } from '../../../src/outbox/testing/index.ts'
import { openSqliteMemory } from './open-sqlite.ts'

for (const { name, run } of [
	...outboxStoreConformance(openSqliteMemory),
	...endpointStoreConformance(openSqliteMemory),
])
	test(name, run)
