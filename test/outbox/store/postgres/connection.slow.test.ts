import { expect, test, vi } from 'vitest'
import { OutboxStoreError } from '../../../../src/outbox/store/errors.ts'
import { postgresOutboxStore } from '../../../../src/outbox/store/postgres/postgres-store.ts'
import type { PgClient, PgPool } from '../../../../src/sql/clients.ts'
import { eventually } from '../../../support/eventually.ts'
import { newRow, newRows } from '../rows.ts'
import { wanted } from './rows.ts'
import { setup } from './setup.ts'

const postgres = setup()

const prepared = async (prepare: boolean): Promise<number> => {
	const pool = postgres.anotherPool({ max: 1 })
	const store = postgresOutboxStore({ client: pool, schema: postgres.schema, prepare })
	await store.insert(newRows(3))
	await store.claim(wanted())
	await store.claim(wanted())
	return (await pool.query('select name from pg_prepared_statements')).rows.length
}

test('prepares statements once per connection, and none with prepare: false', async () => {
	expect(await prepared(true)).toBe(2)
	expect(await prepared(false)).toBe(0)
})

test('prepares again what DISCARD ALL removed', async () => {
	const pool = postgres.anotherPool({ max: 1 })
	const store = postgresOutboxStore({ client: pool, schema: postgres.schema })
	await store.insert(newRows(2))
	expect((await store.claim(wanted({ limit: 1 }))).rows).toHaveLength(1)
	await pool.query('discard all')
	expect((await store.claim(wanted({ limit: 1 }))).rows).toHaveLength(1)
	expect((await pool.query('select from pg_prepared_statements')).rows).toHaveLength(1)
})

/** A pool whose connections run each text on another connection of the server, as a pooler in transaction mode does. */
async function pooler(): Promise<{ readonly pool: PgPool; end(): void }> {
	const server = postgres.anotherPool({ max: 2 })
	const connections = [await server.connect(), await server.connect()]
	let texts = 0
	const query = (text: string): ReturnType<PgClient['query']> => {
		const connection = connections[texts++ % 2]
		return connection === undefined ? Promise.reject(new Error('no connection')) : connection.query(text)
	}
	const client = { query, release() {}, on() {}, removeListener() {} }
	const pool = { query, connect: async () => client, on() {}, removeListener() {} } as unknown as PgPool
	return { pool, end: () => connections.forEach((connection) => void connection.release()) }
}

test('a relay goes on without prepared statements if a pooler changes the connection', async () => {
	await postgres.store.insert(newRows(3))
	const { pool, end } = await pooler()
	const store = postgresOutboxStore({ client: pool, schema: postgres.schema })
	for (let round = 0; round < 3; round++) {
		const { rows } = await store.claim(wanted({ limit: 1 }))
		expect(rows).toHaveLength(1)
		const sent = rows.map(({ id, attempt }) => ({ type: 'sent', id, attempt }) as const)
		expect(await store.settle('relay', sent, false)).toEqual([])
	}
	end()
})

test('two stores of different schemas can share a pool', async () => {
	const pool = postgres.anotherPool({ max: 1 })
	const one = postgresOutboxStore({ client: pool, schema: postgres.schema })
	const two = postgresOutboxStore({ client: pool, schema: `${postgres.schema}_two` })
	await two.migrate()
	await one.insert(newRows(2))
	await two.insert(newRows(3))
	expect((await one.claim(wanted())).rows).toHaveLength(2)
	expect((await two.claim(wanted())).rows).toHaveLength(3)
	await pool.query(`drop schema ${postgres.schema}_two cascade`)
})

test('reports an open transaction for clients and pools of pg', async () => {
	const client = await postgres.pool.connect()
	await client.query('begin')
	expect((await postgres.store.insert([newRow()], client)).isInTransaction).toBe(true)
	expect((await postgres.store.insert(newRows(2), client)).isInTransaction).toBe(true)
	await client.query('rollback')
	expect((await postgres.store.insert([newRow()], client)).isInTransaction).toBe(false)
	client.release()
	expect((await postgres.store.insert([newRow()], postgres.pool)).isInTransaction).toBe(false)
	expect((await postgres.store.insert([newRow()])).isInTransaction).toBe(false)
	const plain = { query: (text: string, values?: unknown[]) => postgres.pool.query(text, values) }
	expect((await postgres.store.insert([newRow()], plain)).isInTransaction).toBeUndefined()
})

test('survives idle connections that the server ends', async () => {
	const pool = postgres.anotherPool()
	const store = postgresOutboxStore({ client: pool, schema: postgres.schema })
	await store.insert([newRow()])
	const { rows } = await pool.query('select pg_backend_pid() as pid')
	await postgres.pool.query('select pg_terminate_backend($1)', [rows[0].pid])
	await eventually(() => expect(pool.totalCount).toBe(0))
	expect((await store.claim(wanted())).rows).toHaveLength(1)
})

test('a connection lost within a transaction fails that call, and the next call works', async () => {
	const pool = postgres.anotherPool()
	const store = postgresOutboxStore({ client: pool, schema: postgres.schema })
	const request = { destination: 'shop', owner: 'r', wanted: 1, inUse: 0, total: 1, leaseMs: 60_000 }
	await store.acquirePermits(request)
	const blocker = await postgres.pool.connect()
	await blocker.query('begin')
	await blocker.query(`select from ${postgres.schema}.outbox_destinations for update`)
	const outcome = store.acquirePermits(request).catch((error: unknown) => error)
	const waiting = `select pid from pg_stat_activity where wait_event_type = 'Lock' and query like 'execute yaoki%'`
	const { pid } = await eventually(async () => {
		const [row] = (await postgres.pool.query(waiting)).rows
		expect(row).toBeDefined()
		return row
	})
	await postgres.pool.query('select pg_terminate_backend($1)', [pid])
	expect(await outcome).toBeInstanceOf(Error)
	await blocker.query('rollback')
	blocker.release()
	expect(await store.acquirePermits(request)).toBe(1)
	expect(pool.idleCount).toBe(pool.totalCount)
})

test('a full disk rejects with a OutboxStoreError whose cause is the error of the database', async () => {
	const cause = Object.assign(new Error('could not extend file: No space left on device'), { code: '53100' })
	const pool = postgres.anotherPool()
	const store = postgresOutboxStore({ client: pool, schema: postgres.schema })
	vi.spyOn(pool, 'query').mockImplementation(() => Promise.reject(cause))
	const error = await store.insert([newRow()]).catch((error: unknown) => error)
	expect(error).toBeInstanceOf(OutboxStoreError)
	expect(error).toMatchObject({ cause, message: expect.stringMatching(/disk of the database is full/) })
})

test('passes connection errors through', async () => {
	const cause = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
	const pool = postgres.anotherPool()
	const store = postgresOutboxStore({ client: pool, schema: postgres.schema })
	vi.spyOn(pool, 'connect').mockImplementation(() => Promise.reject(cause))
	await expect(store.claim(wanted())).rejects.toBe(cause)
})
