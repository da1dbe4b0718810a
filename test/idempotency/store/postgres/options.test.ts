import { EventEmitter } from 'node:events'
import pg from 'pg'
import { describe, expect, test, vi } from 'vitest'
import type { PostgresIdempotencyStoreOptions } from '../../../../src/idempotency/store/postgres/postgres-store.ts'
import { postgresIdempotencyStore } from '../../../../src/idempotency/store/postgres/postgres-store.ts'
import type { PgPool } from '../../../../src/sql/clients.ts'
import { LEASE_MS, request } from '../requests.ts'

const never = () => Promise.reject(new Error('not called'))
const client: PgPool = { query: never, connect: never, on: () => {}, removeListener: () => {} }

const invalid: readonly [what: string, options: object, message: RegExp][] = [
	['no client', {}, /a Pool of pg \(not a Client, not an ORM\) or a PGlite database/],
	['a single Client of pg', { client: new pg.Client() }, /not a Client/],
	['the pool itself', client, /an object such as \{ client: pool \}/],
	['a schema with quotes', { client, schema: 'a"; drop' }, /schema.* at most 50/],
	['a schema that is too long', { client, schema: 'a'.repeat(51) }, /schema.* at most 50/],
	['a fraction of a millisecond', { client, clockOffsetMs: 0.5 }, /clockOffsetMs.* an integer/],
	['a text for prepare', { client, prepare: 'no' }, /prepare.* a boolean/],
	['an unknown option', { client, shema: 'a' }, /Did you mean "schema"/],
]

test.each(invalid)('rejects %s', (_, options, message) => {
	expect(() => postgresIdempotencyStore(options as PostgresIdempotencyStoreOptions)).toThrow(message)
})

test('migrations contain the schema name', () => {
	const { migrations } = postgresIdempotencyStore({ client, schema: 'mine' })
	expect(migrations.map(({ version }) => version)).toEqual([1])
	expect(migrations[0]?.sql).toContain('create table "mine".idempotency_keys (')
	expect(migrations[0]?.sql).not.toMatch(/\{s\}|\{now\}/)
})

// The handler was removed by close, and a connection that was lost before pool.end() ended the process.
test('a connection that is lost after the store was closed does not end the process', async () => {
	const pool = Object.assign(new EventEmitter(), { query: never, connect: never })
	for (const store of [1, 2].map(() => postgresIdempotencyStore({ client: pool }))) await store.close()
	expect(() => pool.emit('error', new Error('terminated by an administrator'))).not.toThrow()
	const connection = new EventEmitter()
	pool.emit('connect', connection)
	expect(() => connection.emit('error', new Error('terminated by an administrator'))).not.toThrow()
	expect(['error', 'connect'].map((event) => pool.listenerCount(event))).toEqual([1, 1])
})

/** A pool whose first queries fail with these codes; then a claim succeeds. */
function failing(codes: string[]) {
	const sent: unknown[] = []
	const query: PgPool['query'] = async (given) => {
		sent.push(given)
		const code = codes.shift()
		if (code !== undefined) throw Object.assign(new Error(`error ${code}`), { code })
		return { rows: [{ kind: 'claimed', steps: null }] }
	}
	return { pool: { ...client, query }, sent }
}

describe('a claim', () => {
	test.each(['26000', '42P05'])(
		'of a pooler that reports %s is repeated without a prepared statement, with one warning',
		async (code) => {
			const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
			const { pool, sent } = failing([code])
			const store = postgresIdempotencyStore({ client: pool })
			expect(await store.claim(request('a', 't'))).toEqual({ kind: 'claimed', steps: {} })
			expect(await store.claim(request('b', 't'))).toEqual({ kind: 'claimed', steps: {} })
			expect(sent.map((given) => typeof given)).toEqual(['object', 'string', 'string'])
			expect(warn.mock.calls).toEqual([[expect.stringContaining('{ prepare: false }')]])
			warn.mockRestore()
		},
	)

	test('is repeated if it fails to serialize', async () => {
		const { pool, sent } = failing(['40001', '40P01'])
		const store = postgresIdempotencyStore({ client: pool })
		expect(await store.claim(request('a', 't'))).toEqual({ kind: 'claimed', steps: {} })
		expect(sent).toHaveLength(3)
	})

	test('is rejected if it always fails to serialize', async () => {
		const { pool } = failing(Array(100).fill('40001'))
		const store = postgresIdempotencyStore({ client: pool })
		await expect(store.claim(request('a', 't'))).rejects.toMatchObject({ code: '40001' })
	})

	test('is rejected if it loses every race', async () => {
		const query = vi.fn(async () => ({ rows: [] }))
		const store = postgresIdempotencyStore({ client: { ...client, query } })
		await expect(store.claim(request('a', 't'))).rejects.toThrow('a key changed 100 times')
		expect(query).toHaveBeenCalledTimes(100)
	})

	test('rejects with what to do if the disk is full, and is not repeated', async () => {
		const { pool, sent } = failing(['53100'])
		const store = postgresIdempotencyStore({ client: pool })
		await expect(store.heartbeat({ id: 'a', token: 't' }, LEASE_MS)).rejects.toThrow(/disk.*is full/)
		expect(sent).toHaveLength(1)
	})
})
