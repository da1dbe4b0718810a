/** What goes wrong while a handler runs or a request waits: stores that hang or recover, transactions that fail, clients that leave. */
import { describe, expect, test } from 'vitest'
import { BulkheadRejectedError, type Runtime, TimeoutError } from 'yaoki'
import { virtualRuntime } from 'yaoki/testing'
import type { BeginResult } from '../../../src/idempotency/engine/claim.ts'
import { idempotencyContext } from '../../../src/idempotency/engine/context.ts'
import { idempotency } from '../../../src/idempotency/engine/engine.ts'
import type { IdempotencyEvent } from '../../../src/idempotency/engine/events.ts'
import type { IdempotencyOptions } from '../../../src/idempotency/engine/options.ts'
import { captureBody } from '../../../src/idempotency/response/captured-body.ts'
import { memoryIdempotencyStore } from '../../../src/idempotency/store/memory-store.ts'
import type { IdempotencyStore, StoredResponse } from '../../../src/idempotency/store/store.ts'

const IDENTITY = { principal: 'ada', method: 'POST', route: '/charges', key: 'k1' }
const REQUEST = { method: 'POST', path: '/charges' }
const RESPONSE: StoredResponse = { status: 201, headers: [], body: new Uint8Array([1]) }

/** An engine on a store in memory, some of whose methods are replaced. */
function setting(
	options: Partial<IdempotencyOptions> = {},
	replace: (store: IdempotencyStore) => Partial<IdempotencyStore> = () => ({}),
) {
	const runtime = virtualRuntime()
	const store = memoryIdempotencyStore({ runtime }) as IdempotencyStore
	const replaced = new Proxy(store, {
		get(target, name) {
			const method = Reflect.get(replacement, name) ?? Reflect.get(target, name)
			return typeof method === 'function' ? method.bind(target) : method
		},
	})
	const replacement = replace(store)
	const engine = idempotency({
		name: 'idempotency',
		store: replaced,
		runtime,
		principal: () => 'ada',
		// Tests count the timers of claims.
		purgeEveryMs: 0,
		waitMs: 0,
		...options,
	})
	const events: IdempotencyEvent[] = []
	engine.subscribe((event) => events.push(event))
	const begin = (signal?: AbortSignal) => engine.begin(IDENTITY, 'f1', signal ? { signal } : {})
	return { runtime, engine, begin, types: () => events.map(({ type }) => type) }
}

function claimOf(result: BeginResult) {
	if (result.kind !== 'run') throw new Error(`expected run, got ${result.kind}`)
	return result.claim
}

const hang = () => new Promise<never>(() => {})
const fail = async (): Promise<never> => {
	throw new Error('the database is down')
}

describe('the signal of a claim is aborted when its lease ends', () => {
	test('while a heartbeat hangs', async () => {
		const { runtime, begin } = setting({ leaseMs: 3_000, storeTimeoutMs: 60_000 }, () => ({
			heartbeat: hang,
		}))
		const { signal } = claimOf(await begin())
		await runtime.advance(2_999)
		expect(signal.aborted).toBe(false)
		await runtime.advance(1)
		expect(signal.aborted).toBe(true)
		expect(await begin()).toMatchObject({ kind: 'run' })
	})

	test('after heartbeats that took until their timeout', async () => {
		const { runtime, begin, types } = setting({ leaseMs: 60_000, storeTimeoutMs: 2_000 }, () => ({
			heartbeat: hang,
		}))
		const { signal } = claimOf(await begin())
		await runtime.advance(60_000)
		expect(signal.aborted).toBe(true)
		await runtime.advance(60_000)
		expect(types().filter((type) => type === 'idempotency_lease_lost')).toHaveLength(1)
	})

	test('and not if a later heartbeat succeeds', async () => {
		let failures = 1
		const { runtime, begin } = setting({ leaseMs: 3_000, maxRunMs: 60_000 }, (store) => ({
			heartbeat: (claim, leaseMs) => (failures-- > 0 ? fail() : store.heartbeat(claim, leaseMs)),
		}))
		const { signal } = claimOf(await begin())
		await runtime.advance(30_000)
		expect(signal.aborted).toBe(false)
	})

	test.each([true, false])('after a stall of the process only if the store says so: %s', async (isHeld) => {
		const virtual = virtualRuntime()
		let stalledMs = 0
		const runtime: Runtime = {
			now: () => virtual.now() + stalledMs,
			wallNow: () => virtual.wallNow(),
			setTimer: (ms, fn) => virtual.setTimer(ms, fn),
			random: () => virtual.random(),
		}
		const reply = Promise.withResolvers<boolean>()
		const { begin } = setting({ runtime, leaseMs: 3_000, storeTimeoutMs: 60_000 }, () => ({
			heartbeat: () => reply.promise,
		}))
		const { signal } = claimOf(await begin())
		await virtual.advance(2_000)
		stalledMs = 5_000
		await virtual.advance(1_000)
		expect(signal.aborted).toBe(false)
		reply.resolve(isHeld)
		await virtual.advance(1)
		expect(signal.aborted).toBe(!isHeld)
	})

	test('and no timer is left after the end of the claim', async () => {
		const { runtime, engine, begin } = setting({ leaseMs: 3_000 })
		await engine.complete(claimOf(await begin()), RESPONSE)
		expect(runtime.pendingTimers).toBe(0)
	})
})

describe('a claim that the store does not confirm in time names the store and the option', () => {
	test('if the database hangs', async () => {
		const { runtime, begin } = setting({ name: 'payments', storeTimeoutMs: 1_000 }, () => ({ claim: hang }))
		const beginning = begin().catch((error) => error)
		await runtime.advance(1_000)
		const error = await beginning
		expect(error).toBeInstanceOf(TimeoutError)
		expect(error.message).toBe('payments/idempotency store (storeTimeoutMs): no result within 1000 ms')
	})

	test('if no connection of the pool is free', async () => {
		const { runtime, begin } = setting({ name: 'payments', storeTimeoutMs: 1_000 }, () => ({
			claim: (_request, call) => {
				if (call) call.isWaiting = true
				return hang()
			},
		}))
		const beginning = begin().catch((error) => error)
		await runtime.advance(1_000)
		const error = await beginning
		expect(error).toBeInstanceOf(BulkheadRejectedError)
		expect(error.message).toContain('payments/idempotency store (storeTimeoutMs): no connection of the pool')
	})
})

describe('a step', () => {
	test('that is called twice concurrently runs once', async () => {
		const { begin } = setting()
		const claim = claimOf(await begin())
		let charges = 0
		const charge = async () => ++charges
		expect(await Promise.all([claim.step('charge', charge), claim.step('charge', charge)])).toEqual([1, 1])
		expect(charges).toBe(1)
	})

	// The message was "payments/timeout: no result within 2000 ms", as if the operation of the step were slow.
	test('whose result the store does not keep in time names the store and the option', async () => {
		const { runtime, begin } = setting({ name: 'payments', storeTimeoutMs: 2_000 }, () => ({
			saveStep: hang,
		}))
		const charging = claimOf(await begin())
			.step('charge', async () => 'charged')
			.catch((error) => error)
		await runtime.advance(2_000)
		const error = await charging
		expect(error).toBeInstanceOf(TimeoutError)
		expect(error).toMatchObject({
			code: 'YAOKI_TIMEOUT',
			policy: 'idempotency store (storeTimeoutMs)',
			timeoutMs: 2_000,
			message: 'payments/idempotency store (storeTimeoutMs): no result within 2000 ms',
		})
	})

	test('that failed can run again', async () => {
		const { begin } = setting()
		const claim = claimOf(await begin())
		await expect(claim.step('charge', fail)).rejects.toThrow('the database is down')
		expect(await claim.step('charge', () => 1)).toBe(1)
	})

	test('does not run after the lease was lost: another request may run it', async () => {
		const { runtime, begin } = setting({ leaseMs: 1_000, maxRunMs: 1_000 })
		const claim = claimOf(await begin())
		await runtime.advance(3_000)
		let charges = 0
		await expect(claim.step('charge', () => ++charges)).rejects.toMatchObject({
			code: 'YAOKI_IDEMPOTENCY_LEASE_LOST',
		})
		expect(charges).toBe(0)
	})

	test('is not stored, and is reported, if the lease is lost while it runs', async () => {
		const { runtime, begin, types } = setting({ leaseMs: 1_000, maxRunMs: 1_000 })
		const claim = claimOf(await begin())
		const charging = claim.step('charge', async () => {
			await runtime.advance(3_000)
			await begin()
		})
		await expect(charging).rejects.toMatchObject({ code: 'YAOKI_IDEMPOTENCY_LEASE_LOST' })
		expect(types()).toContain('idempotency_fenced')
	})
})

describe('a store that has recovered', () => {
	test('gets the responses, steps and heartbeats of running requests although the circuit is open', async () => {
		let isDown = false
		const { runtime, engine, begin } = setting({ leaseMs: 3_000, maxRunMs: 60_000 }, (store) => ({
			claim: (request) => (isDown ? fail() : store.claim(request)),
		}))
		const claim = claimOf(await begin())
		isDown = true
		for (let n = 0; n < 10; n++) await begin().catch(() => {})
		expect(engine.stats.storeCircuit).toBe('open')
		isDown = false
		await runtime.advance(10_000)
		expect(claim.signal.aborted).toBe(false)
		expect(await claim.step('charge', () => 1)).toBe(1)
		expect(await engine.complete(claim, RESPONSE)).toBe(true)
	})
})

describe('a request that waits', () => {
	test('stops when its client leaves, with the reason', async () => {
		const { runtime, begin, engine } = setting({ waitMs: 60_000 })
		const claim = claimOf(await begin())
		const leaving = new AbortController()
		const waiting = begin(leaving.signal)
		await runtime.advance(1_000)
		leaving.abort(new Error('the client has left'))
		await expect(waiting).rejects.toThrow('the client has left')
		await engine.complete(claim, RESPONSE)
		expect(runtime.pendingTimers).toBe(0)
	})

	test('takes over when the lease of the first one ends', async () => {
		const { runtime, begin } = setting({ waitMs: 60_000, leaseMs: 1_000, maxRunMs: 1_000 })
		await begin()
		const waiting = begin()
		await runtime.advance(2_000)
		expect(await waiting).toMatchObject({ kind: 'run' })
	})

	test('runs nothing if its client has left before', async () => {
		const { begin } = setting({ waitMs: 60_000 })
		await expect(begin(AbortSignal.abort(new Error('left')))).rejects.toThrow('left')
		expect(await begin()).toMatchObject({ kind: 'run' })
	})
})

describe('a transaction whose commit fails', () => {
	const failingCommit = () => ({
		async transaction<T>(
			run: (tx: unknown, complete: IdempotencyStore['complete']) => Promise<T>,
		): Promise<T> {
			await run(undefined, () => true)
			throw new Error('could not serialize access')
		},
	})
	const respond = () => new Response('created', { status: 201 })

	test('leaves the claim running, so that the handler can repeat it', async () => {
		const { runtime, engine, begin } = setting({ leaseMs: 3_000, maxRunMs: 60_000 }, failingCommit)
		const claim = claimOf(await begin())
		const { transaction } = idempotencyContext(engine, claim, REQUEST)
		await expect(transaction(respond)).rejects.toThrow('could not serialize')
		expect(claim.hasEnded).toBe(false)
		expect(engine.stats.running).toBe(1)
		await runtime.advance(30_000)
		expect(claim.signal.aborted).toBe(false)
		expect(await engine.complete(claim, RESPONSE)).toBe(true)
		expect(runtime.pendingTimers).toBe(0)
	})
})

describe('a captured body', () => {
	const streamOf = (...chunks: Uint8Array[]) =>
		new ReadableStream<Uint8Array>({
			pull(controller) {
				const chunk = chunks.shift()
				if (chunk) controller.enqueue(chunk)
				else controller.close()
			},
		})

	test('is stored as it was sent, although the receiver changes its chunks', async () => {
		const stored: (Uint8Array | undefined)[] = []
		const captured = captureBody(streamOf(new Uint8Array([1, 2]), new Uint8Array([3])), 100, {
			onComplete: async (body) => stored.push(body),
			onError: async () => {},
		})
		for await (const chunk of captured) structuredClone(chunk, { transfer: [chunk.buffer] })
		expect(stored).toEqual([new Uint8Array([1, 2, 3])])
	})

	test('is stored once if the client disconnects while its end is read', async () => {
		const ends: string[] = []
		const source = Promise.withResolvers<void>()
		const stream = new ReadableStream<Uint8Array>({
			async pull(controller) {
				await source.promise
				controller.close()
			},
		})
		const completed = Promise.withResolvers<void>()
		const captured = captureBody(
			stream,
			100,
			{
				onComplete: async () => {
					ends.push('complete')
				},
				onError: async () => {
					ends.push('error')
				},
			},
			(promise) => void promise.then(() => completed.resolve()),
		)
		const reader = captured.getReader()
		const reading = reader.read()
		const cancelled = reader.cancel()
		source.resolve()
		await Promise.all([reading, cancelled, completed.promise])
		expect(ends).toEqual(['complete'])
	})
})

// Clients of Redis send a command again after a reconnect: the store has executed the first one.
describe('a completion that the store gets twice', () => {
	const twice = (store: IdempotencyStore) => ({
		async complete(...args: Parameters<IdempotencyStore['complete']>) {
			await store.complete(...args)
			return store.complete(...args)
		},
	})

	test.each([RESPONSE, undefined])('is stored and not fenced', async (response) => {
		const { engine, begin, types } = setting({}, twice)
		expect(await engine.complete(claimOf(await begin()), response)).toBe(true)
		expect(types()).not.toContain('idempotency_fenced')
	})

	test('is fenced if another claim has completed the key, also with the same response', async () => {
		const { engine, begin, types, runtime } = setting({ leaseMs: 1_000, maxRunMs: 1_000 })
		const first = claimOf(await begin())
		await runtime.advance(2_000)
		expect(await engine.complete(claimOf(await begin()), RESPONSE)).toBe(true)
		expect(await engine.complete(first, RESPONSE)).toBe(false)
		expect(types()).toContain('idempotency_fenced')
	})
})

describe('a claim that the store made, but did not confirm', () => {
	/** The first claims are made, and their connection is lost before the reply. */
	const losingReplies = (count: number) => (store: IdempotencyStore) => ({
		async claim(request: Parameters<IdempotencyStore['claim']>[0]) {
			const result = await store.claim(request)
			if (count-- > 0) throw new Error('Connection terminated unexpectedly')
			return result
		},
	})

	test('does not lock its key until the lease ends', async () => {
		const { begin } = setting({}, losingReplies(2))
		await expect(begin()).rejects.toThrow('terminated')
		await expect(begin()).rejects.toThrow('terminated')
		expect((await begin()).kind).toBe('run')
		expect((await begin()).kind).toBe('conflict')
	})

	test('keeps its lease for other servers, which cannot know', async () => {
		const store = memoryIdempotencyStore() as IdempotencyStore
		const first = setting({}, () => losingReplies(1)(store))
		const other = setting({}, () => ({ claim: (request) => store.claim(request) }))
		await expect(first.begin()).rejects.toThrow('terminated')
		expect((await other.begin()).kind).toBe('conflict')
	})
})
