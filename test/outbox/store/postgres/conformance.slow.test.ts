import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { storeConformance } from '../../../../src/outbox/testing/index.ts'
import { type PostgresDatabase, postgresDatabase } from '../../postgres-database.ts'
import { openOnPool } from './opened.ts'

let database: PostgresDatabase
let pool: pg.Pool
beforeAll(async () => {
	database = await postgresDatabase()
	pool = new pg.Pool({ ...database.connection, max: 6 })
}, 60_000)
afterAll(async () => {
	await pool?.end()
	await database?.[Symbol.asyncDispose]()
})

for (const { name, run } of storeConformance(() => openOnPool(pool)))
	test(name, async () => {
		await expect(run()).resolves.toBeUndefined()
	})
