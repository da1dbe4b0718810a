/** The suite that defines a store, run for an SQLite database in memory. */
import { test } from 'vitest'
import { idempotencyStoreConformance } from '../../../../src/idempotency/testing/index.ts'
import { openSqlite } from '../open-sqlite.ts'

for (const { name, run } of idempotencyStoreConformance(() => openSqlite(':memory:'))) test(name, run)
