import { expect, test } from 'vitest'
import { OutboxSchemaError } from '../../../../src/outbox/store/errors.ts'
import { postgresOutboxStore } from '../../../../src/outbox/store/postgres/postgres-store.ts'
import { eventually } from '../../../support/eventually.ts'
import { newRow, newRows } from '../rows.ts'
import { wanted } from './rows.ts'
import { setup } from './setup.ts'

const postgres = setup()

test('concurrent migrations all succeed, and one of them applies the steps', async () => {
	await postgres.pool.query(`drop schema ${postgres.schema} cascade`)
	const stores = Array.from({ length: 4 }, () =>
		postgresOutboxStore({ client: postgres.anotherPool(), schema: postgres.schema }),
	)
	const reports = await Promise.all(stores.map((store) => store.migrate()))
	expect(reports.filter(({ applied }) => applied.length > 0)).toHaveLength(1)
	expect(await postgres.store.schemaVersion()).toBe(1)
})

test('a connection that looked for tables before does not create them again after waiting for another migration', async () => {
	await postgres.pool.query(`drop schema ${postgres.schema} cascade`)
	const pool = postgres.anotherPool({ max: 1 })
	const store = postgresOutboxStore({ client: pool, schema: postgres.schema })
	// Now the connection has it in its memory that there is no such schema.
	expect(await store.schemaVersion()).toBe(0)
	const first = await postgres.pool.connect()
	await first.query('begin')
	await first.query(
		`select pg_advisory_xact_lock(hashtext('yaoki schema'), hashtext('"${postgres.schema}"'))`,
	)
	const second = store.migrate()
	const waiting =
		"select from pg_stat_activity where wait_event = 'advisory' and datname = current_database()"
	await eventually(async () => expect((await first.query(waiting)).rows).toHaveLength(1))
	for (const { sql } of store.migrations) await first.query(sql)
	await first.query('commit')
	first.release()
	expect(await second).toEqual({ from: 1, to: 1, applied: [] })
})

test('the printed SQL creates the same schema', async () => {
	await postgres.pool.query(`drop schema ${postgres.schema} cascade`)
	for (const { sql } of postgres.store.migrations) await postgres.pool.query(sql)
	expect(await postgres.store.migrate()).toEqual({ from: 1, to: 1, applied: [] })
	await postgres.store.insert([newRow()])
})

test('a user without CREATE privilege can migrate an up-to-date schema, and an existing schema is used', async () => {
	const role = `${postgres.schema}_user`
	await postgres.pool.query(`create role ${role}`)
	await postgres.pool.query(
		`drop schema ${postgres.schema} cascade; create schema ${postgres.schema} authorization ${role}`,
	)
	const asUser = postgres.anotherPool({ max: 1 })
	await asUser.query(`set role ${role}`)
	const store = postgresOutboxStore({ client: asUser, schema: postgres.schema })
	expect((await store.migrate()).applied).toEqual(['tables'])
	expect((await store.migrate()).applied).toEqual([])
	await asUser.end()
	await postgres.pool.query(`drop schema ${postgres.schema} cascade; drop role ${role}`)
})

test('rejects a newer schema', async () => {
	await postgres.pool.query(
		`insert into ${postgres.schema}.outbox_schema (version, name) values (99, 'later')`,
	)
	await expect(postgres.store.migrate()).rejects.toThrow(/version 99, this release needs version 1/)
})

test('rejects calls without tables with OutboxSchemaError, also in a transaction of the user', async () => {
	await postgres.pool.query(`drop schema ${postgres.schema} cascade`)
	await expect(postgres.store.claim(wanted())).rejects.toThrow(OutboxSchemaError)
	await expect(postgres.store.insert([newRow()])).rejects.toThrow(/Run outbox\.migrate\(\)/)
	const client = await postgres.pool.connect()
	await client.query('begin')
	await expect(postgres.store.insert([newRow()], client)).rejects.toThrow(OutboxSchemaError)
	await client.query('rollback')
	client.release()
})

test("does not hang without tables in the user's transaction on the only connection", async () => {
	const pool = postgres.anotherPool({ max: 1 })
	const store = postgresOutboxStore({ client: pool, schema: 'nowhere' })
	const client = await pool.connect()
	await client.query('begin')
	await expect(store.insert(newRows(2), client)).rejects.toThrow(OutboxSchemaError)
	await client.query('rollback')
	client.release()
})

test('the view shows messages with the documented columns', async () => {
	await postgres.store.insert([newRow({ key: 'k', headers: '{"a":"b"}' })])
	await postgres.store.claim(wanted())
	const { rows } = await postgres.pool.query(`select * from ${postgres.schema}.outbox_messages`)
	expect(rows).toEqual([
		expect.objectContaining({
			topic: 'order.created',
			key: 'k',
			status: 'processing',
			attempts: 1,
			next_retry_at: expect.any(Date),
			last_attempt_at: expect.any(Date),
			last_error: null,
			locked_at: expect.any(Date),
			locked_by: 'relay',
			created_at: expect.any(Date),
		}),
	])
})

test('a migration that finds tables without a version says which table exists, and what to do', async () => {
	// Regression: relation "outbox" already exists.
	await postgres.pool.query(`delete from ${postgres.schema}.outbox_schema`)
	await expect(postgres.store.migrate()).rejects.toMatchObject({ code: 'YAOKI_MISSING_VERSION' })
	const text = await postgres.store.migrate().then(String, String)
	expect(text).toContain(
		`Table "${postgres.schema}".outbox exists, but "${postgres.schema}".outbox_schema contains no version`,
	)
	const [insert = ''] = /insert into .*?\)(?=\. Otherwise)/.exec(text) ?? []
	await postgres.pool.query(insert)
	expect(await postgres.store.migrate()).toEqual({ from: 1, to: 1, applied: [] })
})
