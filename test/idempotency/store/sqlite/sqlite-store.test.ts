import { readdirSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, onTestFinished, test } from 'vitest'
import { virtualRuntime } from 'yaoki/testing'
import { IdempotencySchemaError } from '../../../../src/idempotency/store/errors.ts'
import type { SqliteIdempotencyStoreOptions } from '../../../../src/idempotency/store/sqlite/sqlite-store.ts'
import {
	type SqliteIdempotencyStore,
	sqliteIdempotencyStore,
} from '../../../../src/idempotency/store/sqlite/sqlite-store.ts'
import { temporaryFile, temporaryFolder } from '../../../support/temporary-file.ts'
import { LEASE_MS, RESPONSE, RETENTION_MS, request } from '../requests.ts'

const SECOND = 1_000
const HOUR = 3_600 * SECOND

const ref = { id: 'k', token: 't' }

function open(options: SqliteIdempotencyStoreOptions | string): SqliteIdempotencyStore {
	const store = sqliteIdempotencyStore(options)
	onTestFinished(() => store.close())
	return store
}

describe('the schema', () => {
	test('a missing table is reported with what to do', async () => {
		const store = open(temporaryFile())
		const claim = store.claim(request('k', 't'))
		await expect(claim).rejects.toThrow(IdempotencySchemaError)
		await expect(claim).rejects.toThrow(/`await store\.migrate\(\)` or `yaoki idempotency migrate`/)
		expect(await store.schemaVersion()).toBe(0)
		const complete = store.transaction((_, complete) => Promise.resolve(complete(ref, RESPONSE, 1)))
		await expect(complete).rejects.toThrow(IdempotencySchemaError)
	})

	test('concurrent migrations all succeed, and one of them applies the steps', async () => {
		const file = temporaryFile()
		const reports = await Promise.all(Array.from({ length: 4 }, () => open(file).migrate()))
		expect(reports.filter(({ applied }) => applied.length > 0)).toHaveLength(1)
	})

	test('the printed SQL creates the same schema', async () => {
		const file = temporaryFile()
		const store = open(file)
		const database = new DatabaseSync(file)
		for (const { sql } of store.migrations) database.exec(sql)
		database.close()
		expect((await store.migrate()).applied).toEqual([])
		expect((await store.claim(request('k', 't'))).kind).toBe('claimed')
	})

	test('rejects a newer schema', async () => {
		const file = temporaryFile()
		await open(file).migrate()
		const database = new DatabaseSync(file)
		database.exec("INSERT INTO yaoki_idempotency_schema VALUES (99, 'later', 0)")
		database.close()
		await expect(open(file).migrate()).rejects.toThrow(/version 99, this release needs version 1/)
	})

	test('lookups and purges use an index', async () => {
		const file = temporaryFile()
		await open(file).migrate()
		const database = new DatabaseSync(file)
		onTestFinished(() => database.close())
		const plan = (sql: string) => JSON.stringify(database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all())
		const from = 'FROM yaoki_idempotency_keys WHERE'
		expect(plan(`SELECT * ${from} id = 'k' AND expires_at > 1`)).toContain('sqlite_autoindex')
		expect(plan(`SELECT rowid ${from} expires_at <= 1 ORDER BY expires_at LIMIT 5`)).toContain(
			'COVERING INDEX yaoki_idempotency_keys_expired',
		)
	})
})

test('opens nothing before the first use', () => {
	const folder = temporaryFolder()
	open(`${folder}/new.db`)
	open(`${folder}/no/such/folder.db`)
	expect(readdirSync(folder)).toEqual([])
})

test('reports a folder that does not exist with a hint', async () => {
	const store = open(`${temporaryFolder()}/no/such/folder.db`)
	await expect(store.claim(request('k', 't'))).rejects.toThrow(/Cannot use the database.*folder/)
})

test.each([
	['an empty name', '', /file/],
	['an unknown option', { file: 'a.db', fil: 'b' }, /fil/],
	['a text for open', { file: 'a.db', open: 'x' }, /open/],
])('rejects %s', (_, options, message) => {
	expect(() => sqliteIdempotencyStore(options as string)).toThrow(message)
})

describe('a clock that is set', () => {
	async function claimed(file = temporaryFile()) {
		const clock = virtualRuntime()
		const store = open({ file, runtime: clock })
		await store.migrate()
		await store.claim(request('k', 't'))
		return { clock, file, store }
	}

	test('two hours forward: a lease lasts as long as before', async () => {
		const { clock, store } = await claimed()
		await clock.advance(LEASE_MS / 2)
		clock.jumpWallClock(2 * HOUR)
		expect((await store.claim(request('k', 't2'))).kind).toBe('running')
		await clock.advance(LEASE_MS / 2 - SECOND)
		expect((await store.claim(request('k', 't2'))).kind).toBe('running')
		await clock.advance(2 * SECOND)
		expect((await store.claim(request('k', 't2'))).kind).toBe('claimed')
	})

	test('two days forward: a response is kept as long as before', async () => {
		const { clock, store } = await claimed()
		await store.complete(ref, RESPONSE, RETENTION_MS)
		clock.jumpWallClock(48 * HOUR)
		expect(await store.heartbeat({ id: 'any', token: 'any' }, 1)).toBe(false)
		expect((await store.claim(request('k', 't2'))).kind).toBe('completed')
		await clock.advance(RETENTION_MS - SECOND)
		expect((await store.claim(request('k', 't2'))).kind).toBe('completed')
		await clock.advance(2 * SECOND)
		expect((await store.claim(request('k', 't2'))).kind).toBe('claimed')
	})

	test('two hours back: a lease ends when it would have, also for a process that starts afterwards', async () => {
		const { clock, file } = await claimed()
		clock.jumpWallClock(-2 * HOUR)
		const store = open({ file, runtime: clock })
		expect((await store.claim(request('k', 't2'))).kind).toBe('running')
		await clock.advance(LEASE_MS + 10 * SECOND)
		expect((await store.claim(request('k', 't2'))).kind).toBe('claimed')
	})
})

test('stored keys outlive the process', async () => {
	const file = temporaryFile()
	const first = sqliteIdempotencyStore(file)
	await first.migrate()
	await first.claim(request('k', 't'))
	await first.complete(ref, RESPONSE, RETENTION_MS)
	await first.close()
	expect(await open(file).claim(request('k', 't2'))).toEqual({ kind: 'completed', response: RESPONSE })
})
