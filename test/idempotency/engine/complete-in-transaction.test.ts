/** `context.complete(response, { tx })`: the response is stored in a transaction of the user, whose commit the engine does not see. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import {
	fetchIdempotency,
	type IdempotencyContext,
	type IdempotencyEvent,
	IdempotencyLeaseLostError,
	type IdempotencyOptions,
	IdempotencyResponseNotStoredError,
	type IdempotencyStore,
	idempotency,
	memoryIdempotencyStore,
	nodeIdempotency,
} from 'yaoki/idempotency'
import { virtualRuntime } from 'yaoki/testing'
import type { Queryable } from '../../../src/sql/clients.ts'
import { listen } from '../../support/listen.ts'
import { recordingStore, storeWith } from '../adapters/stores.ts'
import { openSqlite } from '../store/open-sqlite.ts'

const CREATED = () => Response.json({ id: 1 }, { status: 201 })

/** A transaction that locks the keys it has written, as a row of PostgreSQL is locked. */
class UserTransaction {
	readonly isTransaction = true
	readonly writes: (() => unknown)[] = []
	readonly ended = Promise.withResolvers<void>()

	prepare(): never {
		throw new Error('not used')
	}

	async commit(): Promise<void> {
		for (const write of this.writes) await write()
		this.ended.resolve()
	}

	rollback(): void {
		this.ended.resolve()
	}
}

/** A store in memory with transactions of the user, and a server with one handler. */
function setup(
	handler: (context: IdempotencyContext, tx: UserTransaction & Queryable) => Promise<Response>,
	options: Partial<IdempotencyOptions> = {},
) {
	const runtime = virtualRuntime()
	const memory = memoryIdempotencyStore({ runtime }) as IdempotencyStore
	const locks = new Map<string, Promise<void>>()
	const state = { isHeld: true, isDown: false }
	const locking = storeWith(
		{
			completeIn: async (given, ref, response, retentionMs) => {
				if (!state.isHeld) return false
				const tx = given as unknown as UserTransaction
				tx.writes.push(() => memory.complete(ref, response, retentionMs))
				locks.set(ref.id, tx.ended.promise)
				return true
			},
			heartbeat: async (ref, leaseMs) => {
				await locks.get(ref.id)
				return memory.heartbeat(ref, leaseMs)
			},
			find: async (id) => {
				if (state.isDown) throw new Error('the database is down')
				return memory.find(id)
			},
		},
		memory,
	)
	const { store, calls } = recordingStore(locking)
	const engine = idempotency({ store, runtime, principal: () => 'ada', purgeEveryMs: 0, ...options })
	const events: string[] = []
	engine.subscribe(({ type }: IdempotencyEvent) => events.push(type))
	const tx = new UserTransaction() as UserTransaction & Queryable
	const handle = fetchIdempotency(engine, (_request, context) => handler(context, tx))
	const post = async () => {
		const response = await handle(
			new Request('http://shop.test/orders', {
				method: 'POST',
				body: '{}',
				headers: { 'idempotency-key': 'k1' },
			}),
		)
		return {
			status: response.status,
			text: await response.text(),
			isReplay: response.headers.has('idempotency-replayed'),
		}
	}
	const count = (method: string) => calls.filter((call) => call.method === method).length
	return { runtime, engine, tx, post, count, events, state }
}

/** Reading a body takes turns of the event loop. */
const turn = () => new Promise((resolve) => setImmediate(resolve))

const reached = async (condition: () => boolean): Promise<void> => {
	while (!condition()) await turn()
}

describe('a committed transaction', () => {
	test('has stored the response: the handler returns it, and it is not stored a second time', async () => {
		const { post, count, events, engine } = setup(async (context, tx) => {
			const response = await context.complete(CREATED(), { tx })
			await tx.commit()
			return response
		})
		expect(await post()).toEqual({ status: 201, text: '{"id":1}', isReplay: false })
		expect(await post()).toEqual({ status: 201, text: '{"id":1}', isReplay: true })
		expect(count('complete')).toBe(0)
		expect(events).toEqual(['idempotency_claimed', 'idempotency_replayed'])
		expect(engine.stats.running).toBe(0)
	})

	test('counts, whatever the handler does afterwards', async () => {
		for (const after of [() => new Response('broken', { status: 500 }), () => Promise.reject(new Error())]) {
			const { post, events } = setup(async (context, tx) => {
				await context.complete(CREATED(), { tx })
				await tx.commit()
				return after()
			})
			await post().catch(() => {})
			expect(await post()).toEqual({ status: 201, text: '{"id":1}', isReplay: true })
			expect(events).not.toContain('idempotency_fenced')
		}
	})

	test('is noticed by the heartbeat of a handler that never ends: the engine can be closed', async () => {
		const hasCommitted = Promise.withResolvers<void>()
		const { post, runtime, engine, events } = setup(
			async (context, tx) => {
				await context.complete(CREATED(), { tx })
				await tx.commit()
				hasCommitted.resolve()
				return new Promise<never>(() => {})
			},
			{ leaseMs: 3_000 },
		)
		void post()
		await hasCommitted.promise
		await runtime.advance(3_000)
		expect(engine.stats.running).toBe(0)
		await engine.close()
		expect(runtime.pendingTimers).toBe(0)
		expect(events).toEqual(['idempotency_claimed'])
	})

	test('counts if the store is away when the handler ends', async () => {
		const { post, runtime, state } = setup(async (context, tx) => {
			const response = await context.complete(CREATED(), { tx })
			await tx.commit()
			state.isDown = true
			return response
		})
		const first = post()
		await reached(() => state.isDown)
		for (let n = 0; n < 20; n++) await turn()
		state.isDown = false
		await runtime.advance(2_000)
		expect(await first).toMatchObject({ status: 201, text: '{"id":1}' })
		expect(await post()).toMatchObject({ status: 201, isReplay: true })
	})
})

describe('while the transaction is open', () => {
	test('the heartbeat pauses, and the lease is not lost, because the row is locked', async () => {
		let isCompleted = false
		const { post, tx, runtime, count, events, engine } = setup(
			async (context, tx) => {
				const response = await context.complete(CREATED(), { tx })
				isCompleted = true
				await tx.ended.promise
				expect(context.signal?.aborted).toBe(false)
				return response
			},
			{ leaseMs: 3_000, storeTimeoutMs: 500 },
		)
		const sent = post()
		await reached(() => isCompleted)
		await runtime.advance(1_900)
		expect(count('heartbeat')).toBe(0)
		await runtime.advance(10_000)
		expect(count('heartbeat')).toBeGreaterThan(0)
		expect(engine.stats.running).toBe(1)
		await tx.commit()
		expect(await sent).toMatchObject({ status: 201 })
		expect(events).not.toContain('idempotency_lease_lost')
		expect(events).not.toContain('idempotency_fenced')
		await runtime.advance(10_000)
		expect(runtime.pendingTimers).toBe(0)
	})

	test('a step that is not stored is rejected, and a stored one returns its result', async () => {
		const results: unknown[] = []
		const { post } = setup(async (context, tx) => {
			await context.step('charge', () => 'c1')
			const response = await context.complete(CREATED(), { tx })
			results.push(await context.step('charge', () => 'c2'))
			results.push(await context.step('mail', () => 'sent').catch((error) => error.code))
			await tx.commit()
			return response
		})
		await post()
		expect(results).toEqual(['c1', 'YAOKI_IDEMPOTENCY_STEP_IN_TRANSACTION'])
	})
})

describe('a transaction that was rolled back', () => {
	test('has stored nothing: what the handler returns is handled as usual', async () => {
		const { post, events } = setup(async (context, tx) => {
			await context.complete(CREATED(), { tx })
			tx.rollback()
			return new Response('sold out', { status: 410 })
		})
		expect(await post()).toEqual({ status: 410, text: 'sold out', isReplay: false })
		expect(await post()).toEqual({ status: 410, text: 'sold out', isReplay: true })
		expect(events).toEqual(['idempotency_claimed', 'idempotency_replayed'])
	})

	test('leaves the key to the next request if the handler throws', async () => {
		let runs = 0
		const { post } = setup(async (context, tx) => {
			if (++runs > 1) return CREATED()
			await context.complete(CREATED(), { tx })
			tx.rollback()
			throw new Error('could not serialize access')
		})
		await expect(post()).rejects.toThrow('could not serialize')
		expect(await post()).toMatchObject({ status: 201, isReplay: false })
		expect(runs).toBe(2)
	})

	test('continues the heartbeat of its handler', async () => {
		const gate = Promise.withResolvers<void>()
		let isRolledBack = false
		const { post, runtime, count, events } = setup(
			async (context, tx) => {
				await context.complete(CREATED(), { tx })
				tx.rollback()
				isRolledBack = true
				await gate.promise
				return new Response('late')
			},
			{ leaseMs: 3_000 },
		)
		const sent = post()
		await reached(() => isRolledBack)
		await runtime.advance(30_000)
		expect(count('heartbeat')).toBeGreaterThanOrEqual(20)
		gate.resolve()
		expect(await sent).toMatchObject({ text: 'late' })
		expect(events).toEqual(['idempotency_claimed'])
	})

	test('can be repeated with the same response', async () => {
		const { post, events } = setup(async (context, tx) => {
			await context.complete(CREATED(), { tx })
			tx.rollback()
			const second = new UserTransaction() as UserTransaction & Queryable
			const response = await context.complete(CREATED(), { tx: second })
			await second.commit()
			return response
		})
		expect(await post()).toMatchObject({ status: 201, isReplay: false })
		expect(await post()).toMatchObject({ status: 201, isReplay: true })
		expect(events).not.toContain('idempotency_fenced')
	})
})

describe('context.complete', () => {
	const failureIn = async (
		call: (context: IdempotencyContext, tx: Queryable) => Promise<unknown>,
		options: Partial<IdempotencyOptions> = {},
		before: (server: ReturnType<typeof setup>) => void = () => {},
	) => {
		let failure: unknown
		const server: ReturnType<typeof setup> = setup(async (context, tx) => {
			before(server)
			await call(context, tx).catch((error) => {
				failure = error
			})
			return new Response('handled')
		}, options)
		expect(await server.post()).toMatchObject({ text: 'handled' })
		return { failure, ...server }
	}

	test('rejects if the claim was lost, so that the transaction rolls back', async () => {
		const { failure, events, tx } = await failureIn(
			(context, tx) => context.complete(CREATED(), { tx }),
			{},
			({ state }) => {
				state.isHeld = false
			},
		)
		expect(failure).toBeInstanceOf(IdempotencyLeaseLostError)
		expect(tx.writes).toEqual([])
		expect(events).toContain('idempotency_fenced')
	})

	test('a response that is not stored, which the error has', async () => {
		const response = new Response('broken', { status: 503 })
		const { failure, tx } = await failureIn((context, tx) => context.complete(response, { tx }))
		expect(failure).toBeInstanceOf(IdempotencyResponseNotStoredError)
		expect(failure).toMatchObject({
			code: 'YAOKI_IDEMPOTENCY_RESPONSE_NOT_STORED',
			response,
			statusCode: 503,
		})
		expect(tx.writes).toEqual([])
	})

	test('inside of context.transaction, without tx, and with other options', async () => {
		const complete = (options: object) => async (context: IdempotencyContext) =>
			context.complete(CREATED(), options as { tx: Queryable })
		expect((await failureIn(complete({}))).failure).toMatchObject({ optionPath: 'tx' })
		expect((await failureIn(complete({ transaction: {} }))).failure).toMatchObject({
			optionPath: 'transaction',
		})
		const { store } = await openSqlite(':memory:')
		onTestFinished(() => store.close())
		const { failure } = await failureIn(
			(context) =>
				context.transaction(async (tx) => {
					await context.complete(CREATED(), { tx: tx as Queryable })
					return CREATED()
				}),
			{ name: 'shop', store: store as IdempotencyStore },
		)
		expect(failure).toMatchObject({ message: expect.stringContaining('inside of context.transaction') })
	})

	test('rejects on a store without transactions', async () => {
		const { failure } = await failureIn((context, tx) => context.complete(CREATED(), { tx }), {
			store: memoryIdempotencyStore() as IdempotencyStore,
		})
		expect(failure).toMatchObject({
			code: 'YAOKI_IDEMPOTENCY_NO_TRANSACTION',
			message: expect.stringContaining('steps'),
		})
	})
})

describe('on SQLite', () => {
	/** A server on `node:http`, whose handler inserts an order on a connection of the user. */
	async function server(end: 'COMMIT' | 'ROLLBACK') {
		const { store, file, userTable } = await openSqlite()
		const db = new DatabaseSync(file, { timeout: 5_000 })
		const engine = idempotency({ name: 'shop', store, principal: () => 'ada' })
		const events: string[] = []
		engine.subscribe(({ type }) => events.push(type))
		const handler = vi.fn(async (context: IdempotencyContext<DatabaseSync>) => {
			db.exec('BEGIN IMMEDIATE')
			db.prepare("INSERT INTO orders VALUES ('a')").run()
			await context.complete(CREATED(), { tx: db })
			db.exec(end)
		})
		const http = createServer(
			nodeIdempotency(engine, async (_request: IncomingMessage, response: ServerResponse, context) => {
				await handler(context)
				response.writeHead(201, { 'content-type': 'application/json' }).end('{"id":1}')
			}),
		)
		const port = await listen(http)
		onTestFinished(async () => {
			await new Promise((resolve) => http.close(resolve))
			await engine.close()
			db.close()
		})
		const post = async () => {
			const response = await fetch(`http://127.0.0.1:${port}/orders`, {
				method: 'POST',
				headers: { 'idempotency-key': 'k1', connection: 'close' },
			})
			return [response.status, await response.json(), response.headers.get('idempotency-replayed')]
		}
		return { post, handler, events, orders: userTable.count }
	}

	test('the commit of the user stores the response with the writes', async () => {
		const { post, handler, events, orders } = await server('COMMIT')
		expect(await post()).toEqual([201, { id: 1 }, null])
		expect(await post()).toEqual([201, { id: 1 }, 'true'])
		expect(handler).toHaveBeenCalledTimes(1)
		expect(await orders()).toBe(1)
		expect(events).toEqual(['idempotency_claimed', 'idempotency_replayed'])
	})

	test('the response that was sent is stored after a rollback of the user', async () => {
		const { post, handler, orders } = await server('ROLLBACK')
		expect(await post()).toEqual([201, { id: 1 }, null])
		expect(await post()).toEqual([201, { id: 1 }, 'true'])
		expect(handler).toHaveBeenCalledTimes(1)
		expect(await orders()).toBe(0)
	})

	test('a result of engine.run is stored in a transaction of the user', async () => {
		const { store, file, userTable } = await openSqlite()
		const engine = idempotency({ name: 'shop', store, principal: () => 'ada' })
		const db = new DatabaseSync(file, { timeout: 5_000 })
		onTestFinished(async () => {
			await engine.close()
			db.close()
		})
		const run = () =>
			engine.run(
				'k1',
				1,
				async (context) => {
					db.exec('BEGIN IMMEDIATE')
					db.prepare("INSERT INTO orders VALUES ('a')").run()
					const result = await context.complete({ at: new Date(0) }, { tx: db })
					db.exec('COMMIT')
					return result
				},
				{ principal: 'ada' },
			)
		expect(await run()).toEqual({ at: '1970-01-01T00:00:00.000Z' })
		expect(await run()).toEqual({ at: '1970-01-01T00:00:00.000Z' })
		expect(await userTable.count()).toBe(1)
	})

	test.each([
		['a client without an open transaction', (file: string) => new DatabaseSync(file), 'without an open'],
		['another database', () => opened(new DatabaseSync(':memory:')), 'another database than the store'],
		['a client of PostgreSQL', () => ({ query: async () => [] }), 'an object with prepare(sql)'],
	])('%s is rejected', async (_, txOf, message) => {
		const { store, file } = await openSqlite()
		onTestFinished(() => store.close())
		const complete = async () =>
			store.completeIn(txOf(file) as Queryable, { id: 'k', token: 't' }, undefined, 1_000)
		await expect(complete()).rejects.toThrow(message)
	})
})

function opened(db: DatabaseSync): DatabaseSync {
	db.exec('BEGIN')
	return db
}
