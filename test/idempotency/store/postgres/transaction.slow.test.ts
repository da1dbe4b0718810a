import type pg from 'pg'
import { beforeEach, describe, expect, expectTypeOf, onTestFinished, test, vi } from 'vitest'
import { fetchIdempotency, IdempotencyLeaseLostError, idempotency } from 'yaoki/idempotency'
import { LEASE_MS, RESPONSE, RETENTION_MS, request } from '../requests.ts'
import { setupPostgres } from './setup.ts'

const database = setupPostgres()

beforeEach(async () => {
	await database.pool.query(`create table ${database.schema}.orders (item text not null)`)
})

const insertOrder = (tx: pg.PoolClient, item: string): Promise<unknown> =>
	tx.query(`insert into ${database.schema}.orders values ($1)`, [item])

const orders = async (): Promise<unknown[]> =>
	(await database.pool.query(`select item from ${database.schema}.orders`)).rows.map(({ item }) => item)

/** A server whose handler inserts an order in the transaction and returns `respond`'s response. */
function server(respond: (tx: pg.PoolClient) => Response | Promise<Response>) {
	const engine = idempotency({ name: 'shop', store: database.store, principal: () => 'p' })
	const handle = fetchIdempotency(engine, (_, context) =>
		context.transaction(async (tx) => {
			expectTypeOf(tx).toEqualTypeOf<pg.PoolClient>()
			await insertOrder(tx, 'a')
			return respond(tx)
		}),
	)
	const post = () =>
		handle(
			new Request('http://localhost/orders', {
				method: 'POST',
				body: '{}',
				headers: { 'idempotency-key': 'k1' },
			}),
		)
	return { engine, post }
}

describe('context.transaction', () => {
	test('commits the writes and the response together, and a repeated request gets the response', async () => {
		const respond = vi.fn(() => Response.json({ id: 1 }, { status: 201 }))
		const { post } = server(respond)
		const first = await post()
		const second = await post()
		expect([first.status, await first.json()]).toEqual([201, { id: 1 }])
		expect([second.status, await second.json()]).toEqual([201, { id: 1 }])
		expect(second.headers.get('idempotency-replayed')).toBe('true')
		expect(respond).toHaveBeenCalledTimes(1)
		expect(await orders()).toEqual(['a'])
	})

	test('rolls back if the function throws, and the next request runs', async () => {
		let isBroken = true
		const { post } = server(() => {
			if (isBroken) throw new Error('broken')
			return new Response('ok')
		})
		await expect(post()).rejects.toThrow('broken')
		expect(await orders()).toEqual([])
		isBroken = false
		expect((await post()).status).toBe(200)
		expect(await orders()).toEqual(['a'])
	})

	test('rolls back for a response that is not stored', async () => {
		const { post } = server(() => new Response('no', { status: 503 }))
		expect((await post()).status).toBe(503)
		expect(await orders()).toEqual([])
	})

	test('rolls back if another request has taken over the key', async () => {
		const { post } = server(async () => {
			database.advance(LEASE_MS + 1)
			const [{ id, fingerprint }] = (
				await database.pool.query(`select id, fingerprint from ${database.schema}.idempotency_keys`)
			).rows
			expect(await database.store.claim(request(id, 'other', { fingerprint }))).toEqual({
				kind: 'claimed',
				steps: {},
			})
			return new Response('late')
		})
		await expect(post()).rejects.toThrow(IdempotencyLeaseLostError)
		expect(await orders()).toEqual([])
		const { rows } = await database.pool.query(`select token, state from ${database.schema}.idempotency_keys`)
		expect(rows).toEqual([{ token: 'other', state: 'running' }])
	})

	test('reports a connection that is lost at the commit, and the key can be used again', async () => {
		let isBroken = true
		const { post } = server(async (tx) => {
			if (!isBroken) return new Response('ok')
			const { rows } = await tx.query('select pg_backend_pid() as pid')
			const query = tx.query.bind(tx)
			const spy = vi.spyOn(tx, 'query')
			onTestFinished(() => spy.mockRestore())
			spy.mockImplementation(async (...args: unknown[]) => {
				if (args[0] === 'commit') await database.pool.query('select pg_terminate_backend($1)', [rows[0].pid])
				return Reflect.apply(query, tx, args)
			})
			return new Response('lost')
		})
		await expect(post()).rejects.toThrow()
		expect(await orders()).toEqual([])
		isBroken = false
		expect((await post()).status).toBe(200)
		expect(await orders()).toEqual(['a'])
	})

	test('a commit whose result is lost keeps the response: the release after it has no effect', async () => {
		const { post } = server((tx) => {
			const query = tx.query.bind(tx)
			const spy = vi.spyOn(tx, 'query')
			onTestFinished(() => spy.mockRestore())
			spy.mockImplementation(async (...args: unknown[]) => {
				const result = await Reflect.apply(query, tx, args)
				if (args[0] === 'commit') throw new Error('Connection terminated unexpectedly')
				return result
			})
			return new Response('stored', { status: 201 })
		})
		await expect(post()).rejects.toThrow('Connection terminated')
		const second = await post()
		expect([second.status, await second.text()]).toEqual([201, 'stored'])
		expect(await orders()).toEqual(['a'])
	})
})

test('a transaction that is already aborted is reported, not committed as nothing', async () => {
	const ran = database.store.transaction(async (tx) => {
		await insertOrder(tx, 'a')
		await tx.query('select no_such_column').catch(() => {})
	})
	await expect(ran).rejects.toThrow('rolled back')
	expect(await orders()).toEqual([])
})

test('a heartbeat on the pool works while the transaction is open', async () => {
	await database.store.claim(request('k', 't'))
	const ref = { id: 'k', token: 't' }
	await database.store.transaction(async (tx, complete) => {
		await insertOrder(tx, 'a')
		expect(await database.store.heartbeat(ref, LEASE_MS)).toBe(true)
		expect(await database.store.saveStep(ref, 's', '1')).toBe(true)
		expect(await complete(ref, RESPONSE, RETENTION_MS)).toBe(true)
	})
	expect(await database.store.claim(request('k', 't2'))).toEqual({ kind: 'completed', response: RESPONSE })
})

test('all connections return to the pool without a lost connection or an error', async () => {
	const { pool, store } = database.another({ max: 1 })
	for (let round = 0; round < 3; round++) {
		await store.transaction((tx) => insertOrder(tx, 'a'))
		await expect(store.transaction(() => Promise.reject(new Error('no')))).rejects.toThrow('no')
	}
	expect([pool.totalCount, pool.idleCount]).toEqual([1, 1])
	expect(await orders()).toHaveLength(3)
})
