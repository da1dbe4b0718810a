/**
 * The store is away when a handler ends. The response was tried once and dropped: after the lease the handler ran again, and had a second effect.
 */
import { describe, expect, test } from 'vitest'
import { virtualRuntime } from 'yaoki/testing'
import { fetchIdempotency } from '../../../src/idempotency/adapters/fetch.ts'
import type { BeginResult } from '../../../src/idempotency/engine/claim.ts'
import { idempotency } from '../../../src/idempotency/engine/engine.ts'
import type { IdempotencyEvent } from '../../../src/idempotency/engine/events.ts'
import type { IdempotencyOptions } from '../../../src/idempotency/engine/options.ts'
import { MAX_UNSTORED_BYTES } from '../../../src/idempotency/response/unstored-responses.ts'
import { memoryIdempotencyStore } from '../../../src/idempotency/store/memory-store.ts'
import type { IdempotencyStore, StoredResponse } from '../../../src/idempotency/store/store.ts'

const IDENTITY = { principal: 'ada', method: 'POST', route: '/charges', key: 'k1' }
const RESPONSE: StoredResponse = { status: 201, headers: [], body: new Uint8Array([1]) }

/** A store in memory that can be away: every operation fails, or hangs. */
function setup(options: Partial<IdempotencyOptions> = {}) {
	const runtime = virtualRuntime()
	const memory = memoryIdempotencyStore({ runtime }) as IdempotencyStore
	const state = { mode: 'up' as 'up' | 'down' | 'hanging' | 'deaf', writes: 0, most: 0, attempts: 0 }
	/** `deaf`: the store does what it is asked for, and its reply is lost. */
	const away = async (run: () => unknown): Promise<never> => {
		if (state.mode === 'deaf') await run()
		state.writes++
		state.attempts++
		state.most = Math.max(state.most, state.writes)
		try {
			if (state.mode === 'down') await new Promise<void>((resolve) => runtime.setTimer(1, resolve))
			else await new Promise<never>(() => {})
		} finally {
			state.writes--
		}
		throw new Error('the database is down')
	}
	const store = new Proxy(memory, {
		get(target, name) {
			const method = Reflect.get(target, name)
			if (typeof method !== 'function') return method
			return (...args: unknown[]) => {
				const run = () => Reflect.apply(method, target, args)
				return state.mode === 'up' ? run() : away(run)
			}
		},
	})
	const engine = idempotency({
		store,
		runtime,
		principal: () => 'ada',
		purgeEveryMs: 0,
		waitMs: 0,
		...options,
	})
	const events: IdempotencyEvent[] = []
	engine.subscribe((event) => events.push(event))
	const begin = (key = 'k1', fingerprint = 'f1') => engine.begin({ ...IDENTITY, key }, fingerprint)
	const eventsOf = (type: IdempotencyEvent['type']) => events.filter((event) => event.type === type)
	return { runtime, engine, memory, state, begin, eventsOf }
}

function claimOf(result: BeginResult) {
	if (result.kind !== 'run') throw new Error(`expected run, got ${result.kind}`)
	return result.claim
}

/** A server whose handler has an effect, during which the store goes away. */
function charging(
	options: Partial<IdempotencyOptions> = {},
	waitUntil?: (promise: Promise<unknown>) => void,
) {
	const server = setup(options)
	let effects = 0
	const handle = fetchIdempotency(server.engine, (_request, _context, _platform: object) => {
		effects++
		server.state.mode = 'down'
		return new Response(`charge ${effects}`, { status: 201 })
	})
	/** The body is stored while it is read. */
	const post = async () => {
		const request = new Request('http://shop.test/charges', {
			method: 'POST',
			body: '{}',
			headers: { 'idempotency-key': 'k1' },
		})
		const response = await handle(request, waitUntil ? { waitUntil } : {})
		const isReplay = response.headers.has('idempotency-replayed')
		return { status: response.status, isReplay, text: await response.text() }
	}
	/** Starts a request, and returns when the first attempt to store its response has failed. */
	const postOnce = async () => {
		const sent = post()
		while (server.state.attempts === 0) await turn()
		return { sent, sentAt: settledAt(server.runtime, sent) }
	}
	return { ...server, post, postOnce, effects: () => effects }
}

/** Reading a body takes turns of the event loop. */
const turn = () => new Promise((resolve) => setImmediate(resolve))

/** Resolves with the virtual time at which the promise settled. */
async function settledAt(runtime: { now(): number }, promise: Promise<unknown>): Promise<number> {
	await promise
	return runtime.now()
}

describe('a store that is away when the handler ends', () => {
	test('delays the response of the client until it was stored, and there is one effect, if it is away for a second', async () => {
		const { runtime, state, post, postOnce, effects, engine, eventsOf } = charging()
		const { sent, sentAt } = await postOnce()
		await runtime.advance(1_000)
		expect(engine.stats).toMatchObject({ running: 0, unstored: 1 })
		state.mode = 'up'
		await runtime.advance(500)
		expect(await sentAt).toBeLessThanOrEqual(1_500)
		expect(await sentAt).toBeGreaterThanOrEqual(1_000)
		expect(await sent).toEqual({ status: 201, isReplay: false, text: 'charge 1' })
		expect(eventsOf('idempotency_stored_late')).toMatchObject([{ method: 'POST', route: '/charges' }])
		await runtime.advance(120_000)
		expect(await post()).toEqual({ status: 201, isReplay: true, text: 'charge 1' })
		expect(effects()).toBe(1)
		expect(runtime.pendingTimers).toBe(0)
	})

	test('delays the response by storeTimeoutMs at most, and storing continues', async () => {
		const { runtime, state, post, postOnce, effects, engine } = charging({ storeTimeoutMs: 2_000 })
		const { sent, sentAt } = await postOnce()
		await runtime.advance(2_000)
		expect(await sentAt).toBe(2_000)
		await runtime.advance(8_000)
		expect((await sent).status).toBe(201)
		// The circuit is open for new requests, not for the response.
		for (let n = 0; n < 10; n++) {
			const other = engine.begin({ ...IDENTITY, key: `other ${n}` }, 'f')
			other.catch(() => {})
			await runtime.advance(10)
		}
		expect(engine.stats.storeCircuit).toBe('open')
		state.mode = 'up'
		await runtime.advance(500)
		expect(engine.stats.unstored).toBe(0)
		await runtime.advance(30_000)
		expect(await post()).toMatchObject({ isReplay: true, text: 'charge 1' })
		expect(effects()).toBe(1)
	})

	test.each(['a repeated request gets it from memory', 'a repeated request gets it later'])(
		'for longer than the lease: %s',
		async (when) => {
			const { runtime, state, post, effects } = charging({ leaseMs: 3_000, maxRunMs: 60_000 })
			const sent = post()
			await runtime.advance(30_000)
			expect((await sent).status).toBe(201)
			if (when.endsWith('memory')) {
				expect(await post()).toMatchObject({ isReplay: true, text: 'charge 1' })
				state.mode = 'up'
				// At the moment of the recovery the lease has ended and the response is not stored.
				expect(await post()).toMatchObject({ isReplay: true, text: 'charge 1' })
			}
			state.mode = 'up'
			await runtime.advance(500)
			expect(await post()).toMatchObject({ isReplay: true, text: 'charge 1' })
			expect(effects()).toBe(1)
		},
	)

	test('keeps its lease while only completions fail', async () => {
		const { runtime, engine, begin, memory, state } = setup({ leaseMs: 3_000, maxRunMs: 60_000 })
		const complete = memory.complete
		Object.assign(memory, {
			complete: (...args: Parameters<typeof complete>) => {
				if (runtime.now() < 20_000) throw new Error('the table is read-only')
				return complete.apply(memory, args)
			},
		})
		const claim = claimOf(await begin())
		const stored = engine.complete(claim, RESPONSE)
		await runtime.advance(19_000)
		expect((await memory.find(claim.ref.id))?.leaseLeftMs).toBeGreaterThan(0)
		expect(claim.signal.aborted).toBe(false)
		await runtime.advance(2_000)
		expect(await stored).toBe(true)
		expect(state.mode).toBe('up')
		expect(runtime.pendingTimers).toBe(0)
	})

	test('loses the response if it is away until maxRunMs is over, and an event reports it', async () => {
		const { runtime, state, begin, engine, eventsOf } = setup({ leaseMs: 3_000, maxRunMs: 20_000 })
		const claim = claimOf(await begin())
		state.mode = 'down'
		const stored = engine.complete(claim, RESPONSE)
		stored.catch(() => {})
		await runtime.advance(19_000)
		expect(engine.stats.unstored).toBe(1)
		await runtime.advance(2_000)
		await expect(stored).rejects.toThrow('the database is down')
		expect(eventsOf('idempotency_response_lost')).toHaveLength(1)
		expect(engine.stats.unstored).toBe(0)
		expect(runtime.pendingTimers).toBe(0)
	})

	test('reports no fenced write if it has stored the response without a reply', async () => {
		const { runtime, state, begin, engine, eventsOf } = setup({ storeTimeoutMs: 1_000 })
		const claim = claimOf(await begin())
		state.mode = 'deaf'
		const stored = engine.complete(claim, RESPONSE)
		await runtime.advance(1_000)
		state.mode = 'up'
		await runtime.advance(500)
		expect(await stored).toBe(true)
		expect(eventsOf('idempotency_fenced')).toEqual([])
		expect(eventsOf('idempotency_lease_lost')).toEqual([])
		expect(await begin()).toEqual({ kind: 'replay', response: RESPONSE })
	})

	test('rejects the late response if another process takes the key over meanwhile, and an event reports it', async () => {
		const { runtime, state, begin, engine, memory, eventsOf } = setup({ leaseMs: 3_000, maxRunMs: 60_000 })
		const claim = claimOf(await begin())
		state.mode = 'down'
		const stored = engine.complete(claim, RESPONSE)
		await runtime.advance(5_000)
		expect(claim.signal.aborted).toBe(true)
		await memory.claim({
			id: claim.ref.id,
			fingerprint: 'f1',
			token: 'another process',
			leaseMs: 3_000,
			retentionMs: 60_000,
			abandoned: 'rerun',
		})
		state.mode = 'up'
		await runtime.advance(500)
		expect(await stored).toBe(false)
		expect(eventsOf('idempotency_lease_lost')).toHaveLength(1)
		expect(eventsOf('idempotency_fenced')).toMatchObject([{ operation: 'complete' }])
		expect(eventsOf('idempotency_stored_late')).toEqual([])
	})
})

describe('responses that wait for the store', () => {
	test('are sent to it one at a time, and are stored soon after it is back', async () => {
		const { runtime, state, begin, engine } = setup({ leaseMs: 15_000, storeTimeoutMs: 2_000 })
		const claims = []
		for (let n = 0; n < 500; n++) claims.push(claimOf(await begin(`k${n}`)))
		state.mode = 'hanging'
		const stored = Promise.all(claims.map((claim) => engine.complete(claim, RESPONSE)))
		await runtime.advance(2_000)
		expect(state.attempts).toBe(500)
		await runtime.advance(2_000)
		// One a time, besides heartbeats.
		expect(state.attempts).toBeLessThan(510)
		await runtime.advance(500)
		state.mode = 'up'
		await runtime.advance(3_000)
		expect(engine.stats.unstored).toBe(0)
		expect(new Set(await stored)).toEqual(new Set([true]))
	})

	test('give a different request a mismatch, as the store does', async () => {
		const { runtime, state, begin, engine } = setup({ storeTimeoutMs: 1_000 })
		const claim = claimOf(await begin())
		state.mode = 'down'
		const stored = engine.complete(claim, RESPONSE)
		await runtime.advance(1_000)
		expect(await begin('k1', 'f2')).toEqual({ kind: 'mismatch' })
		expect(await begin()).toEqual({ kind: 'replay', response: RESPONSE })
		state.mode = 'up'
		await runtime.advance(500)
		expect(await stored).toBe(true)
	})

	test('are limited in memory: beyond the limit a key is completed without its response', async () => {
		const { runtime, state, begin, engine } = setup({ storeTimeoutMs: 1_000 })
		const claims = [claimOf(await begin('k1')), claimOf(await begin('k2'))]
		state.mode = 'down'
		const body = new Uint8Array(MAX_UNSTORED_BYTES / 2 + 1)
		const stored = Promise.all(claims.map((claim) => engine.complete(claim, { ...RESPONSE, body })))
		await runtime.advance(1_000)
		expect(await begin('k2')).toEqual({ kind: 'conflict', reason: 'not-stored' })
		state.mode = 'up'
		await runtime.advance(1_000)
		expect(await stored).toEqual([true, true])
		expect(await begin('k1')).toMatchObject({ kind: 'replay' })
		expect(await begin('k2')).toEqual({ kind: 'conflict', reason: 'not-stored' })
	})

	test('are passed to waitUntil, because Workers end everything with the response', async () => {
		const kept: Promise<unknown>[] = []
		const { runtime, state, post, postOnce, effects } = charging({}, (promise) => kept.push(promise))
		const { sent } = await postOnce()
		await runtime.advance(2_000)
		await sent
		expect(kept).toHaveLength(1)
		let isOver = false
		const over = kept[0]?.then(() => {
			isOver = true
		})
		await runtime.advance(5_000)
		expect(isOver).toBe(false)
		state.mode = 'up'
		await runtime.advance(500)
		await over
		expect(await post()).toMatchObject({ isReplay: true, text: 'charge 1' })
		expect(effects()).toBe(1)
	})
})

describe('a key whose release failed', () => {
	test('is released when the store is back, not when the lease ends', async () => {
		const { runtime, state, begin, engine } = setup({ leaseMs: 15_000 })
		const claim = claimOf(await begin())
		state.mode = 'down'
		const released = engine.claims.tryRelease(claim)
		await runtime.advance(1_000)
		// The response is sent after one attempt.
		await released
		state.mode = 'up'
		await runtime.advance(500)
		expect(await begin()).toMatchObject({ kind: 'run' })
	})

	test('is left to the end of its lease if the store stays away', async () => {
		const { runtime, state, begin, engine } = setup({ leaseMs: 3_000 })
		const claim = claimOf(await begin())
		state.mode = 'down'
		const released = engine.release(claim)
		released.catch(() => {})
		await runtime.advance(4_000)
		await expect(released).rejects.toThrow('the database is down')
		expect(runtime.pendingTimers).toBe(0)
	})
})

describe('close', () => {
	test('waits for running handlers and for responses that are not stored, then closes the store', async () => {
		const { runtime, state, begin, engine, memory } = setup()
		let isStoreClosed = false
		Object.assign(memory, {
			close: () => {
				isStoreClosed = true
			},
		})
		const claim = claimOf(await begin())
		let isClosed = false
		const closed = engine.close().then(() => {
			isClosed = true
		})
		await runtime.advance(1_000)
		expect(isClosed).toBe(false)
		state.mode = 'down'
		const stored = engine.complete(claim, RESPONSE)
		await runtime.advance(5_000)
		expect([isClosed, isStoreClosed]).toEqual([false, false])
		state.mode = 'up'
		await runtime.advance(500)
		await Promise.all([closed, stored])
		expect(isStoreClosed).toBe(true)
	})
})
