import { describe, expect, test } from 'vitest'
import { virtualRuntime } from 'yaoki/testing'
import type { BeginResult } from '../../../src/idempotency/engine/claim.ts'
import { idempotency } from '../../../src/idempotency/engine/engine.ts'
import type { IdempotencyEvent } from '../../../src/idempotency/engine/events.ts'
import type { IdempotencyOptions } from '../../../src/idempotency/engine/options.ts'
import type { IdempotencyIdentity } from '../../../src/idempotency/key/identity.ts'
import { memoryIdempotencyStore } from '../../../src/idempotency/store/memory-store.ts'
import type { IdempotencyStore, StoredResponse } from '../../../src/idempotency/store/store.ts'

const IDENTITY: IdempotencyIdentity = { principal: 'ada', method: 'POST', route: '/charges', key: 'k1' }
const RESPONSE: StoredResponse = { status: 201, headers: [['etag', '"1"']], body: new Uint8Array([1, 2]) }

function setup(options: Partial<IdempotencyOptions> = {}, wrap = (store: IdempotencyStore) => store) {
	const runtime = virtualRuntime()
	const store = wrap(memoryIdempotencyStore({ runtime }))
	const engine = idempotency({
		name: 'idempotency',
		store,
		runtime,
		principal: () => 'ada',
		waitMs: 0,
		...options,
	})
	const events: IdempotencyEvent[] = []
	engine.subscribe((event) => events.push(event))
	const begin = (fingerprint = 'f1', identity = IDENTITY) => engine.begin(identity, fingerprint)
	return { runtime, engine, events, begin, types: () => events.map(({ type }) => type) }
}

function claimOf(result: BeginResult) {
	if (result.kind !== 'run') throw new Error(`expected run, got ${result.kind}`)
	return result.claim
}

describe('the first request runs, and a repeated one', () => {
	test('gets its response after it has completed', async () => {
		const { engine, begin, types } = setup()
		await engine.complete(claimOf(await begin()), RESPONSE)
		expect(await begin()).toEqual({ kind: 'replay', response: RESPONSE })
		expect(types()).toEqual(['idempotency_claimed', 'idempotency_replayed'])
	})

	// Retry-After was the rest of the lease, up to a minute: a client gave up, although the response existed after 2 s.
	test('gets a conflict with a short, jittered time while it runs, never longer than the rest of the lease', async () => {
		const { runtime, begin } = setup({ leaseMs: 60_000, maxRunMs: 60_000 })
		await begin()
		const times = new Set<number>()
		for (let n = 0; n < 20; n++) {
			const result = await begin()
			const ms = result.kind === 'conflict' ? (result.retryAfterMs ?? 0) : 0
			expect(ms).toBeGreaterThanOrEqual(2_500)
			expect(ms).toBeLessThanOrEqual(5_000)
			times.add(ms)
		}
		expect(times.size).toBeGreaterThan(10)
		await runtime.advance(59_000)
		expect(await begin()).toMatchObject({ kind: 'conflict' })
	})

	test('runs if the first was released', async () => {
		const { engine, begin } = setup()
		await engine.release(claimOf(await begin()))
		expect(await begin()).toMatchObject({ kind: 'run' })
	})

	test('gets a mismatch for another content, completed or not', async () => {
		const { engine, begin } = setup()
		const claim = claimOf(await begin())
		expect(await begin('f2')).toEqual({ kind: 'mismatch' })
		await engine.complete(claim, RESPONSE)
		expect(await begin('f2')).toEqual({ kind: 'mismatch' })
	})

	test('runs for another principal, method, route or key', async () => {
		const { begin } = setup()
		await begin()
		for (const change of [{ principal: 'bob' }, { method: 'PATCH' }, { route: '/refunds' }, { key: 'k2' }])
			expect(await begin('f1', { ...IDENTITY, ...change })).toMatchObject({ kind: 'run' })
	})

	test('gets a conflict without a time if the response was too large to store', async () => {
		const { engine, begin } = setup()
		await engine.complete(claimOf(await begin()), undefined)
		expect(await begin()).toEqual({ kind: 'conflict', reason: 'not-stored' })
	})

	test('runs again when the retention is over', async () => {
		const { runtime, engine, begin } = setup({ retentionMs: 1_000 })
		await engine.complete(claimOf(await begin()), RESPONSE)
		await runtime.advance(999)
		expect(await begin()).toMatchObject({ kind: 'replay' })
		await runtime.advance(1)
		expect(await begin()).toMatchObject({ kind: 'run' })
	})
})

describe('a repeated request with waitMs', () => {
	test('gets the response when the first request completes', async () => {
		const { runtime, engine, begin } = setup({ waitMs: 10_000 })
		const claim = claimOf(await begin())
		const repeated = begin()
		await runtime.advance(1_000)
		await engine.complete(claim, RESPONSE)
		await runtime.advance(500)
		expect(await repeated).toMatchObject({ kind: 'replay' })
	})

	test('gets a conflict when waitMs is over', async () => {
		const { runtime, begin } = setup({ waitMs: 1_000 })
		await begin()
		const repeated = begin()
		await runtime.advance(1_000)
		expect(await repeated).toMatchObject({ kind: 'conflict', reason: 'in-progress' })
	})
})

describe('requests that wait for one key', () => {
	const counting = () => {
		const claims = { count: 0 }
		const given = setup({ waitMs: 8_000, leaseMs: 15_000 }, (store) => {
			const claim = store.claim.bind(store)
			return Object.assign(store, {
				claim: (...args: Parameters<IdempotencyStore['claim']>) => {
					claims.count++
					return claim(...args)
				},
			})
		})
		return { ...given, claims }
	}

	test('share what they ask the store: a thousand cost no more than one', async () => {
		const { runtime, engine, begin, claims } = counting()
		const claim = claimOf(await begin())
		const first = begin()
		await runtime.advance(1)
		const waiting = [first, ...Array.from({ length: 999 }, () => begin())]
		await runtime.advance(5_000)
		expect(claims.count).toBeLessThan(20)
		await engine.complete(claim, RESPONSE)
		// Woken by the end of the first, without a pause.
		expect(await Promise.all(waiting)).toEqual(Array(1_000).fill({ kind: 'replay', response: RESPONSE }))
		expect(claims.count).toBeLessThan(21)
		expect(runtime.pendingTimers).toBe(1)
	})

	test('run one after the other if each is released', async () => {
		const { runtime, engine, begin } = counting()
		const first = claimOf(await begin())
		const waiting = [begin(), begin(), begin()]
		await runtime.advance(10)
		let claim = first
		for (const next of waiting) {
			await engine.release(claim)
			await runtime.advance(500)
			claim = claimOf(await next)
		}
		await engine.complete(claim, RESPONSE)
		expect(await begin()).toMatchObject({ kind: 'replay' })
	})

	test('release the key if all have left while the store was asked', async () => {
		const { runtime, engine, begin } = counting()
		const claim = claimOf(await begin())
		const leaving = new AbortController()
		const waiting = engine.begin(IDENTITY, 'f1', { signal: leaving.signal })
		waiting.catch(() => {})
		await runtime.advance(10)
		await engine.release(claim)
		leaving.abort(new Error('the client has left'))
		await waiting.catch(() => {})
		await runtime.advance(1_000)
		expect(engine.stats.running).toBe(0)
		expect(await begin()).toMatchObject({ kind: 'run' })
	})
})

describe('a lease', () => {
	test('is extended while the handler runs, up to maxRunMs', async () => {
		const { runtime, begin, types } = setup({ leaseMs: 3_000, maxRunMs: 10_000 })
		const claim = claimOf(await begin())
		await runtime.advance(9_000)
		expect(await begin()).toMatchObject({ kind: 'conflict' })
		expect(claim.signal.aborted).toBe(false)
		await runtime.advance(10_000)
		expect(claim.signal.aborted).toBe(true)
		expect(types()).toContain('idempotency_lease_lost')
		expect(await begin()).toMatchObject({ kind: 'run' })
	})

	test('makes every later write ineffective when it is lost', async () => {
		const { runtime, engine, begin, types } = setup({ leaseMs: 1_000, maxRunMs: 1_000 })
		const lost = claimOf(await begin())
		await runtime.advance(2_000)
		const next = claimOf(await begin())
		expect(await engine.complete(lost, RESPONSE)).toBe(false)
		expect(await engine.release(lost)).toBe(false)
		await expect(lost.step('charge', () => 1)).rejects.toMatchObject({ code: 'YAOKI_IDEMPOTENCY_LEASE_LOST' })
		expect(types().filter((type) => type === 'idempotency_fenced')).toHaveLength(2)
		expect(await engine.complete(next, RESPONSE)).toBe(true)
	})

	test('rejects the next request after its end with abandoned: reject', async () => {
		const { runtime, begin } = setup({ leaseMs: 1_000, maxRunMs: 1_000, abandoned: 'reject' })
		await begin()
		await runtime.advance(2_000)
		expect(await begin()).toEqual({ kind: 'conflict', reason: 'outcome-unknown' })
	})
})

describe('a step', () => {
	test('runs once per key: a later run gets the stored result', async () => {
		const { engine, begin } = setup()
		const first = claimOf(await begin())
		let charges = 0
		const charge = () => ({ id: ++charges })
		expect(await first.step('charge', charge)).toEqual({ id: 1 })
		expect(await first.step('charge', charge)).toEqual({ id: 1 })
		await engine.release(first)
		expect(await claimOf(await begin()).step('charge', charge)).toEqual({ id: 1 })
		expect(charges).toBe(1)
	})

	test('gets the same idempotency key in every run, and another one for another name or key', async () => {
		const { runtime, begin } = setup({ leaseMs: 1_000, maxRunMs: 1_000 })
		const keys: string[] = []
		const fail = ({ idempotencyKey }: { idempotencyKey: string }) => {
			keys.push(idempotencyKey)
			throw new Error('crash')
		}
		await expect(claimOf(await begin()).step('charge', fail)).rejects.toThrow('crash')
		await runtime.advance(2_000)
		const rerun = claimOf(await begin())
		await expect(rerun.step('charge', fail)).rejects.toThrow('crash')
		await expect(rerun.step('mail', fail)).rejects.toThrow('crash')
		const other = claimOf(await begin('f1', { ...IDENTITY, key: 'k2' }))
		await expect(other.step('charge', fail)).rejects.toThrow('crash')
		expect(keys[0]).toBe(keys[1])
		expect(new Set(keys).size).toBe(3)
	})

	// The step was not stored, and every repeated request had its effect again.
	test.each<[string, () => unknown]>([
		['a bigint', () => ({ amount: 1n })],
		[
			'an object that contains itself',
			() => {
				const charge: Record<string, unknown> = {}
				charge['self'] = charge
				return charge
			},
		],
	])('that returns %s fails, and a later run fails before its effect', async (_, result) => {
		const { engine, begin } = setup()
		const first = claimOf(await begin())
		let charges = 0
		const charge = () => {
			charges++
			return result()
		}
		const failure = { code: 'YAOKI_IDEMPOTENCY_STEP_NOT_JSON', message: expect.stringContaining('"charge"') }
		await expect(first.step('charge', charge)).rejects.toMatchObject(failure)
		await engine.release(first)
		await expect(claimOf(await begin()).step('charge', charge)).rejects.toMatchObject(failure)
		expect(charges).toBe(1)
	})

	test('may return undefined', async () => {
		const { engine, begin } = setup()
		const claim = claimOf(await begin())
		let calls = 0
		await claim.step('log', () => void calls++)
		await engine.release(claim)
		expect(await claimOf(await begin()).step('log', () => void calls++)).toBeUndefined()
		expect(calls).toBe(1)
	})
})

describe('a store that', () => {
	test('fails rejects the request and is reported', async () => {
		const { begin, events } = setup({}, (store) => ({
			...bound(store),
			claim: () => Promise.reject(new Error('down')),
		}))
		await expect(begin()).rejects.toThrow('down')
		expect(events).toMatchObject([
			{ type: 'idempotency_store_error', operation: 'claim', errorMessage: 'down' },
		])
	})

	test('confirms a claim after its timeout does not lock the key', async () => {
		let delayMs = 5_000
		const { runtime, begin } = setup({ storeTimeoutMs: 1_000 }, (store) => ({
			...bound(store),
			claim: async (request) => {
				await new Promise<void>((resolve) => runtime.setTimer(delayMs, resolve))
				return store.claim(request)
			},
		}))
		const timedOut = begin().catch((error) => error)
		await runtime.advance(6_000)
		expect(await timedOut).toMatchObject({ name: 'TimeoutError' })
		delayMs = 0
		const next = begin()
		await runtime.advance(1)
		expect(await next).toMatchObject({ kind: 'run' })
	})
})

/** The methods of a store, without its private fields. */
const bound = (store: IdempotencyStore): IdempotencyStore => ({
	claim: (request) => store.claim(request),
	heartbeat: (claim, leaseMs) => store.heartbeat(claim, leaseMs),
	saveStep: (claim, name, value) => store.saveStep(claim, name, value),
	complete: (claim, response, retentionMs) => store.complete(claim, response, retentionMs),
	release: (claim) => store.release(claim),
	resolve: (id, response, retentionMs) => store.resolve(id, response, retentionMs),
	delete: (id, isForced) => store.delete(id, isForced),
	purge: (limit) => store.purge(limit),
	find: (id) => store.find(id),
})

test("regression: the error for principal: 'anonymous' called that text valid", () => {
	expect(() => setup({ principal: 'anonymous' as never })).toThrow(
		`Invalid option "principal": expected a function that returns the caller's id, or () => 'anonymous', got "anonymous"`,
	)
})

const NOTHING_STORED = 'Nothing is stored for this principal, method, route and key. Check all four'

test('delete forgets a key, and a running one only with force', async () => {
	const { engine, begin } = setup()
	const claim = claimOf(await begin())
	await expect(engine.delete(IDENTITY)).rejects.toMatchObject({
		code: 'YAOKI_IDEMPOTENCY_KEY_UNCHANGED',
		message: 'The idempotency key is running. Wait until its request has ended, or pass { force: true }',
	})
	await engine.delete(IDENTITY, { force: true })
	expect(await engine.complete(claim, RESPONSE)).toBe(false)
	await engine.complete(claimOf(await begin('f2')), RESPONSE)
	await expect(engine.delete({ ...IDENTITY, key: 'k2' })).rejects.toThrow(NOTHING_STORED)
	await engine.delete(IDENTITY)
	expect(await begin()).toMatchObject({ kind: 'run' })
})

test('resolve throws for a key that is unknown or was not abandoned', async () => {
	const { engine, begin } = setup()
	await expect(engine.resolve(IDENTITY, 'rerun')).rejects.toThrow(NOTHING_STORED)
	await begin()
	await expect(engine.resolve(IDENTITY, RESPONSE)).rejects.toMatchObject({
		code: 'YAOKI_IDEMPOTENCY_KEY_UNCHANGED',
		message:
			'The idempotency key is running. Only a key whose request ended without a response can be resolved',
	})
})

describe('purge', () => {
	test.each([0, 1.5, -1, Number.NaN])(
		'rejects a batch size of %d (regression: 0 never ended)',
		async (batchSize) => {
			await expect(setup().engine.purge({ batchSize })).rejects.toThrow('Invalid option "batchSize"')
		},
	)

	test('stops after the batch in which it is aborted', async () => {
		const { engine, runtime } = setup({ leaseMs: 1, maxRunMs: 1, retentionMs: 0 })
		for (const key of ['a', 'b', 'c']) await engine.begin({ ...IDENTITY, key }, 'f')
		await runtime.advance(10)
		expect(await engine.purge({ batchSize: 2, signal: AbortSignal.abort() })).toBe(2)
		expect(await engine.purge({ batchSize: 2 })).toBe(1)
	})
})
