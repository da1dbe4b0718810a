/** The suite that defines a store, run for an SQLite file. */
import { test } from 'vitest'
import { idempotencyStoreConformance } from '../../../../src/idempotency/testing/index.ts'
import { openSqlite } from '../open-sqlite.ts'

for (const { name, run } of idempotencyStoreConformance(() => openSqlite())) test(name, run)
