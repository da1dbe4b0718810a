/** What goes wrong while a handler runs or a request waits: stores that hang or recover, transactions that fail, clients that leave. */
import { describe, expect, test } from 'vitest'
import { BulkheadRejectedError, type Runtime, TimeoutError } from 'yaoki'
import { virtualRuntime } from 'yaoki/testing'
import type { BeginResult } from '../../../src/idempotency/engine/claim.ts'
import { idempotencyContext } from '../../../src/idempotency/engine/context.ts'
import { idempotency } from '../../../src/idempotency/engine/engine.ts'
import type { IdempotencyEvent } from '../../../src/idempotency/engine/events.ts'
import type { IdempotencyOptions } from '../../../src/idempotency/engine/options.ts'
import { memoryIdempotencyStore } from '../../../src/idempotency/store/memory-store.ts'
import type { IdempotencyStore, StoredResponse } from '../../../src/idempotency/store/store.ts'

const IDENTITY = { principal: 'ada', method: 'POST', route: '/charges', key: 'k1' }
const REQUEST = { method: 'POST', path: '/charges' }
const RESPONSE: StoredResponse = { status: 201, headers: [], body: new Uint8Array([1]) }

/** An engine on a store in memory, some of whose methods are replaced. */
function setup(
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

describe('the signal of a claim whose lease ends', () => {
	test('is aborted while a heartbeat hangs', async () => {
		const { runtime, begin } = setup({ leaseMs: 3_000, storeTimeoutMs: 60_000 }, () => ({
			heartbeat: hang,
		}))
		const { signal } = claimOf(await begin())
		await runtime.advance(2_999)
		expect(signal.aborted).toBe(false)
		await runtime.advance(1)
		expect(signal.aborted).toBe(true)
		expect(await begin()).toMatchObject({ kind: 'run' })
	})

	test('is aborted after heartbeats that took until their timeout', async () => {
		const { runtime, begin, types } = setup({ leaseMs: 60_000, storeTimeoutMs: 2_000 }, () => ({
			heartbeat: hang,
		}))
		const { signal } = claimOf(await begin())
		await runtime.advance(60_000)
		expect(signal.aborted).toBe(true)
		await runtime.advance(60_000)
		expect(types().filter((type) => type === 'idempotency_lease_lost')).toHaveLength(1)
	})

	test('is not aborted if a later heartbeat succeeds', async () => {
		let failures = 1
		const { runtime, begin } = setup({ leaseMs: 3_000, maxRunMs: 60_000 }, (store) => ({
			heartbeat: (claim, leaseMs) => (failures-- > 0 ? fail() : store.heartbeat(claim, leaseMs)),
		}))
		const { signal } = claimOf(await begin())
		await runtime.advance(30_000)
		expect(signal.aborted).toBe(false)
	})

	test.each([true, false])(
		'is aborted after a stall of the process only if the store rejects the heartbeat: %s',
		async (isHeld) => {
			const virtual = virtualRuntime()
			let stalledMs = 0
			const runtime: Runtime = {
				now: () => virtual.now() + stalledMs,
				wallNow: () => virtual.wallNow(),
				setTimer: (ms, fn) => virtual.setTimer(ms, fn),
				random: () => virtual.random(),
			}
			const reply = Promise.withResolvers<boolean>()
			const { begin } = setup({ runtime, leaseMs: 3_000, storeTimeoutMs: 60_000 }, () => ({
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
		},
	)

	test('has no timer left after the end of the claim', async () => {
		const { runtime, engine, begin } = setup({ leaseMs: 3_000 })
		await engine.complete(claimOf(await begin()), RESPONSE)
		expect(runtime.pendingTimers).toBe(0)
	})
})

describe('a claim that the store does not confirm in time', () => {
	test('names the store and the option if the database hangs', async () => {
		const { runtime, begin } = setup({ name: 'payments', storeTimeoutMs: 1_000 }, () => ({ claim: hang }))
		const beginning = begin().catch((error) => error)
		await runtime.advance(1_000)
		const error = await beginning
		expect(error).toBeInstanceOf(TimeoutError)
		expect(error.message).toBe('payments/idempotency store (storeTimeoutMs): no result within 1000 ms')
	})

	test('names the store and the option if no connection of the pool is free', async () => {
		const { runtime, begin } = setup({ name: 'payments', storeTimeoutMs: 1_000 }, () => ({
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
	test('runs once if it is called twice concurrently', async () => {
		const { begin } = setup()
		const claim = claimOf(await begin())
		let charges = 0
		const charge = async () => ++charges
		expect(await Promise.all([claim.step('charge', charge), claim.step('charge', charge)])).toEqual([1, 1])
		expect(charges).toBe(1)
	})

	// The message was "payments/timeout: no result within 2000 ms", as if the operation of the step were slow.
	test('names the store and the option if the store does not keep its result in time', async () => {
		const { runtime, begin } = setup({ name: 'payments', storeTimeoutMs: 2_000 }, () => ({
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

	test('can run again after it has failed', async () => {
		const { begin } = setup()
		const claim = claimOf(await begin())
		await expect(claim.step('charge', fail)).rejects.toThrow('the database is down')
		expect(await claim.step('charge', () => 1)).toBe(1)
	})

	test('does not run after the lease was lost: another request may run it', async () => {
		const { runtime, begin } = setup({ leaseMs: 1_000, maxRunMs: 1_000 })
		const claim = claimOf(await begin())
		await runtime.advance(3_000)
		let charges = 0
		await expect(claim.step('charge', () => ++charges)).rejects.toMatchObject({
			code: 'YAOKI_IDEMPOTENCY_LEASE_LOST',
		})
		expect(charges).toBe(0)
	})

	test('is not stored, and is reported, if the lease is lost while it runs', async () => {
		const { runtime, begin, types } = setup({ leaseMs: 1_000, maxRunMs: 1_000 })
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
		const { runtime, engine, begin } = setup({ leaseMs: 3_000, maxRunMs: 60_000 }, (store) => ({
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
		const { runtime, begin, engine } = setup({ waitMs: 60_000 })
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
		const { runtime, begin } = setup({ waitMs: 60_000, leaseMs: 1_000, maxRunMs: 1_000 })
		await begin()
		const waiting = begin()
		await runtime.advance(2_000)
		expect(await waiting).toMatchObject({ kind: 'run' })
	})

	test('runs nothing if its client has left before', async () => {
		const { begin } = setup({ waitMs: 60_000 })
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
		const { runtime, engine, begin } = setup({ leaseMs: 3_000, maxRunMs: 60_000 }, failingCommit)
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

// Clients of Redis send a command again after a reconnect: the store has executed the first one.
describe('a completion that the store gets twice', () => {
	const twice = (store: IdempotencyStore) => ({
		async complete(...args: Parameters<IdempotencyStore['complete']>) {
			await store.complete(...args)
			return store.complete(...args)
		},
	})

	test.each([RESPONSE, undefined])('is stored and not fenced', async (response) => {
		const { engine, begin, types } = setup({}, twice)
		expect(await engine.complete(claimOf(await begin()), response)).toBe(true)
		expect(types()).not.toContain('idempotency_fenced')
	})

	test('is fenced if another claim has completed the key, also with the same response', async () => {
		const { engine, begin, types, runtime } = setup({ leaseMs: 1_000, maxRunMs: 1_000 })
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
		const { begin } = setup({}, losingReplies(2))
		await expect(begin()).rejects.toThrow('terminated')
		await expect(begin()).rejects.toThrow('terminated')
		expect((await begin()).kind).toBe('run')
		expect((await begin()).kind).toBe('conflict')
	})

	test('keeps its lease for other servers, which cannot know', async () => {
		const store = memoryIdempotencyStore() as IdempotencyStore
		const first = setup({}, () => losingReplies(1)(store))
		const other = setup({}, () => ({ claim: (request) => store.claim(request) }))
		await expect(first.begin()).rejects.toThrow('terminated')
		expect((await other.begin()).kind).toBe('conflict')
	})
})
