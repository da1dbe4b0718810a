import { expect, test, vi } from 'vitest'
import { fetchIdempotency, idempotency } from '../../../../src/idempotency/index.ts'
import { IdempotencySchemaError } from '../../../../src/idempotency/store/errors.ts'
import { CLAIM } from '../../../../src/idempotency/store/postgres/claim.ts'
import { PURGE, postgresIdempotencyStore } from '../../../../src/idempotency/store/postgres/postgres-store.ts'
import { DATABASE_NOW } from '../../../../src/sql/postgres-executor.ts'
import { LEASE_MS, RESPONSE, RETENTION_MS, request } from '../requests.ts'
import { setupPostgres } from './setup.ts'

const database = setupPostgres()

test('concurrent migrations all succeed, and one of them applies the steps', async () => {
	await database.pool.query(`drop schema ${database.schema} cascade`)
	const stores = Array.from({ length: 4 }, () => database.another().store)
	const reports = await Promise.all(stores.map((store) => store.migrate()))
	expect(reports.filter(({ applied }) => applied.length > 0)).toHaveLength(1)
	expect(await database.store.schemaVersion()).toBe(1)
	expect((await database.store.migrate()).applied).toEqual([])
})

test('the printed SQL creates the same schema', async () => {
	await database.pool.query(`drop schema ${database.schema} cascade`)
	for (const { sql } of database.store.migrations) await database.pool.query(sql)
	expect(await database.store.migrate()).toEqual({ from: 1, to: 1, applied: [] })
	expect((await database.store.claim(request('k', 't'))).kind).toBe('claimed')
})

test('two schemas do not see the keys of each other', async () => {
	const other = postgresIdempotencyStore({ client: database.pool, schema: `${database.schema}_b` })
	await other.migrate()
	await database.store.claim(request('k', 't'))
	expect((await other.claim(request('k', 't'))).kind).toBe('claimed')
})

test('a missing table is reported with what to do', async () => {
	await database.pool.query(`drop schema ${database.schema} cascade`)
	const claim = database.store.claim(request('k', 't'))
	await expect(claim).rejects.toThrow(IdempotencySchemaError)
	await expect(claim).rejects.toThrow(/`await store\.migrate\(\)` or `yaoki idempotency migrate`/)
	await expect(database.store.purge(10)).rejects.toThrow(IdempotencySchemaError)
})

test('a service without a table answers 500, and works after a migration by another process', async () => {
	const printed = vi.spyOn(console, 'error').mockImplementation(() => {})
	await database.pool.query(`drop schema ${database.schema} cascade`)
	const engine = idempotency({ name: 'shop', store: database.store, principal: () => 'ada' })
	const handle = fetchIdempotency(engine, () => new Response('charged', { status: 201 }))
	const send = async () => {
		const headers = { 'idempotency-key': 'k1' }
		return (await handle(new Request('https://shop.example.com/', { method: 'POST', headers }))).status
	}
	for (let n = 0; n < 10; n++) expect(await send()).toBe(500)
	await database.another().store.migrate()
	expect(await send()).toBe(201)
	// The version is right, but the table is not there.
	await database.pool.query(`drop table ${database.schema}.idempotency_keys`)
	expect(await send()).toBe(500)
	expect(printed).toHaveBeenCalledTimes(2)
})

test('rejects a newer schema', async () => {
	await database.pool.query(
		`insert into ${database.schema}.idempotency_schema (version, name) values (99, 'later')`,
	)
	await expect(database.store.migrate()).rejects.toThrow(/version 99, this release needs version 1/)
})

const explained = async (sql: string): Promise<string> =>
	(await database.pool.query(`explain (costs off) ${sql}`)).rows.map((row) => row['QUERY PLAN']).join('\n')

const text = (sql: string): string =>
	sql
		.replaceAll('{s}', database.schema)
		.replaceAll('{now}', DATABASE_NOW)
		.replaceAll(/\$\d::(\w+)/g, 'null::$1')

test('a claim looks the key up by the primary key, even if the plan was made while the table was empty', async () => {
	await database.pool.query(`vacuum analyze ${database.schema}.idempotency_keys`)
	expect(await explained(`select * from ${database.schema}.idempotency_keys where id = 'k'`)).toContain(
		'Index',
	)
	const client = await database.pool.connect()
	try {
		const prepared = CLAIM.replaceAll('{s}', database.schema).replaceAll('{now}', DATABASE_NOW)
		await client.query(`set plan_cache_mode = force_generic_plan; prepare claim as ${prepared}`)
		const { rows } = await client.query("explain (costs off) execute claim('k', 'f', false, 't', 1, 1, null)")
		const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
		expect(plan).toContain('Index Scan using idempotency_keys_pkey')
		expect(plan).not.toContain('Seq Scan')
	} finally {
		await client.query('deallocate all; reset plan_cache_mode')
		client.release()
	}
	expect(text(CLAIM)).not.toContain('{')
})

test('an exclusive purge leaves the work to the process that has begun, other purges do not', async () => {
	for (let at = 0; at < 6; at++) await database.store.claim(request(`k${at}`, 't', { retentionMs: 1_000 }))
	database.advance(LEASE_MS + 1_001)
	const other = await database.pool.connect()
	await other.query('begin')
	const lock = `pg_try_advisory_xact_lock(hashtext('yaoki purge'), hashtext('"${database.schema}"')) as mine`
	expect((await other.query(`select ${lock}`)).rows).toEqual([{ mine: true }])
	expect(await database.store.purge(2, true)).toBe(0)
	expect(await database.store.purge(2)).toBe(2)
	await other.query('commit')
	expect(await database.store.purge(2, true)).toBe(2)
	// It has left no lock behind.
	expect((await other.query(`select ${lock}`)).rows).toEqual([{ mine: true }])
	other.release()
})

test('purge deletes expired keys in batches by the index, and leaves locked ones to the next', async () => {
	for (let at = 0; at < 25; at++) await database.store.claim(request(`k${at}`, 't', { retentionMs: 1_000 }))
	await database.store.claim(request('kept', 't', { retentionMs: RETENTION_MS }))
	expect(await database.store.purge(10)).toBe(0)
	database.advance(LEASE_MS + 1_001)
	const other = await database.pool.connect()
	await other.query('begin')
	await other.query(`select from ${database.schema}.idempotency_keys where id in ('k1', 'k2') for update`)
	expect(await database.store.purge(10)).toBe(10)
	expect(await database.store.purge(10)).toBe(10)
	expect(await database.store.purge(10)).toBe(3)
	await other.query('rollback')
	other.release()
	expect(await database.store.purge(10)).toBe(2)
	expect(await database.store.purge(10)).toBe(0)
	expect(await database.store.find('kept')).toMatchObject({ state: 'running' })
})

test('a purge reads only expired keys (regression: it read every key in the order of the index)', async () => {
	const { pool, schema } = database
	await pool.query(
		`insert into ${schema}.idempotency_keys (id, state, fingerprint, token, created_at, lease_until, expires_at)
		select i, 'completed', 'f', 't', 0, 0, 9000000000000000 - i from generate_series(1, 5000) i`,
	)
	await pool.query(`vacuum analyze ${schema}.idempotency_keys`)
	const sql = text(PURGE.replace('$1::int', '10').replace('$2::boolean', 'false'))
	expect(await explained(sql)).toContain('Index Cond: (expires_at <= ')
})

test('concurrent purges delete each key once', async () => {
	for (let at = 0; at < 40; at++) await database.store.claim(request(`k${at}`, 't', { retentionMs: 0 }))
	database.advance(LEASE_MS + 1)
	const counts = await Promise.all(Array.from({ length: 4 }, () => database.store.purge(10)))
	expect(counts.reduce((sum, count) => sum + count)).toBe(40)
})

test('times come from the server and are numbers', async () => {
	await database.store.claim(request('k', 't'))
	await database.store.complete({ id: 'k', token: 't' }, RESPONSE, RETENTION_MS)
	const found = await database.store.find('k')
	expect(found).toEqual({
		token: 't',
		state: 'completed',
		leaseLeftMs: null,
		createdAt: expect.any(Number),
		completedAt: expect.any(Number),
		expiresAt: Number(found?.completedAt) + RETENTION_MS,
		status: 201,
		bodyBytes: 256,
		steps: [],
	})
})
