/** Responses that are stored in a transaction of the user, through the clients that ORMs have. */

import type pg from 'pg'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import {
	fetchIdempotency,
	type IdempotencyContext,
	IdempotencyLeaseLostError,
	type IdempotencyOptions,
	idempotency,
} from 'yaoki/idempotency'
import type { Queryable } from '../../../../src/sql/clients.ts'
import { eventually } from '../../../support/eventually.ts'
import { setupPostgres } from './setup.ts'

const database = setupPostgres()

beforeEach(async () => {
	await database.pool.query(`create table ${database.schema}.orders (item text not null)`)
})

const insertOrder = (client: pg.PoolClient): Promise<unknown> =>
	client.query(`insert into ${database.schema}.orders values ('a')`)

const orders = async (): Promise<number> =>
	(await database.pool.query(`select item from ${database.schema}.orders`)).rows.length

type Context = IdempotencyContext<pg.PoolClient>

/** A server that inserts an order in a transaction which the handler opens by itself. */
function server(
	work: (client: pg.PoolClient, context: Context) => Promise<Response>,
	options: Partial<IdempotencyOptions<pg.PoolClient>> = {},
) {
	const engine = idempotency({ name: 'shop', store: database.store, principal: () => 'p', ...options })
	const events: string[] = []
	engine.subscribe(({ type }) => events.push(type))
	const handle = fetchIdempotency(engine, async (_, context) => {
		const client = await database.pool.connect()
		try {
			await client.query('begin')
			await insertOrder(client)
			const response = await work(client, context)
			await client.query('commit')
			return response
		} catch (error) {
			await client.query('rollback')
			throw error
		} finally {
			client.release()
		}
	})
	const post = async () => {
		const response = await handle(
			new Request('http://localhost/orders', {
				method: 'POST',
				body: '{}',
				headers: { 'idempotency-key': 'k1' },
			}),
		)
		return [response.status, await response.json(), response.headers.get('idempotency-replayed')]
	}
	onTestFinished(() => engine.close())
	return { engine, post, events }
}

const created = () => Response.json({ id: 1 }, { status: 201 })

/** What the guide shows for clients that are not `pg`. */
const WRAPPERS: Readonly<Record<string, (client: pg.PoolClient) => Queryable>> = {
	'a client of pg': (client) => client,
	'$queryRawUnsafe of Prisma': (client) => {
		const $queryRawUnsafe = async (text: string, ...values: unknown[]) =>
			(await client.query(text, values)).rows
		return { query: (text, values = []) => $queryRawUnsafe(text, ...values) }
	},
	'the manager of TypeORM': (client) => ({
		query: async (text, values) => (await client.query(text, values)).rows,
	}),
}

describe.each(Object.entries(WRAPPERS))('with %s as tx', (_, txOf) => {
	test('the commit stores the response with the writes, and a repeated request gets it', async () => {
		const { post, events } = server((client, context) => context.complete(created(), { tx: txOf(client) }))
		expect(await post()).toEqual([201, { id: 1 }, null])
		expect(await post()).toEqual([201, { id: 1 }, 'true'])
		expect(await orders()).toBe(1)
		expect(events).toEqual(['idempotency_claimed', 'idempotency_replayed'])
	})

	test('a rollback after it undoes both, and the next request runs', async () => {
		let isBroken = true
		const { post, events } = server(async (client, context) => {
			const response = await context.complete(created(), { tx: txOf(client) })
			if (isBroken) throw new Error('broken')
			return response
		})
		await expect(post()).rejects.toThrow('broken')
		expect(await orders()).toBe(0)
		isBroken = false
		expect(await post()).toEqual([201, { id: 1 }, null])
		expect(await orders()).toBe(1)
		expect(events).toEqual(['idempotency_claimed', 'idempotency_claimed'])
	})
})

test('a request whose key was taken over gets a IdempotencyLeaseLostError, and its transaction rolls back', async () => {
	const hasStarted = Promise.withResolvers<void>()
	const gate = Promise.withResolvers<void>()
	let isFirst = true
	const { post } = server(
		async (client, context) => {
			if (isFirst) {
				isFirst = false
				hasStarted.resolve()
				await gate.promise
			}
			return context.complete(created(), { tx: client })
		},
		{ waitMs: 0, leaseMs: 60_000 },
	)
	const first = post()
	await hasStarted.promise
	database.advance(120_000)
	expect(await post()).toEqual([201, { id: 1 }, null])
	gate.resolve()
	await expect(first).rejects.toThrow(IdempotencyLeaseLostError)
	expect(await orders()).toBe(1)
})

test('a transaction that stays open for several leases keeps the key, and no heartbeat waits for its lock before the lease ends', async () => {
	const isCompleted = Promise.withResolvers<void>()
	const gate = Promise.withResolvers<void>()
	const { post, engine, events } = server(
		async (client, context) => {
			const response = await context.complete(created(), { tx: client })
			isCompleted.resolve()
			await gate.promise
			return response
		},
		{ leaseMs: 300, maxRunMs: 60_000, storeTimeoutMs: 200, waitMs: 0 },
	)
	const sent = post()
	await isCompleted.promise
	// Heartbeats wait for the lock of the row and time out, at least twice.
	await eventually(() => {
		expect(events.filter((type) => type === 'idempotency_store_error').length).toBeGreaterThanOrEqual(2)
	})
	expect(engine.stats.running).toBe(1)
	gate.resolve()
	expect(await sent).toEqual([201, { id: 1 }, null])
	expect(events).not.toContain('idempotency_lease_lost')
	expect(await post()).toEqual([201, { id: 1 }, 'true'])
})

test('a pool, and a client that returns no rows, are rejected', async () => {
	const failures: unknown[] = []
	const { post } = server(async (client, context) => {
		const nothing = { query: async () => undefined } as unknown as Queryable
		for (const tx of [database.pool, nothing])
			await context.complete(created(), { tx }).catch((error) => failures.push(error))
		return context.complete(created(), { tx: client })
	})
	expect(await post()).toEqual([201, { id: 1 }, null])
	expect(failures).toMatchObject([
		{ code: 'YAOKI_IDEMPOTENCY_NO_TRANSACTION', message: expect.stringContaining('a pool') },
		{ code: 'YAOKI_IDEMPOTENCY_STORE', message: expect.stringContaining('returned undefined') },
	])
})
