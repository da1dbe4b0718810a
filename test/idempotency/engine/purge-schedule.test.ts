/** Expired keys were deleted only by a command, and the table of a service without a cron job grew forever. */
import { describe, expect, test, vi } from 'vitest'
import { virtualRuntime } from 'yaoki/testing'
import {
	type IdempotencyOptions,
	idempotency,
	memoryIdempotencyStore,
} from '../../../src/idempotency/index.ts'
import { storeWith } from '../adapters/stores.ts'

const HOUR_MS = 3_600_000
const IDENTITY = { principal: 'ada', method: 'POST', route: '/charges', key: 'k1' }
const RESPONSE = { status: 201, headers: [], body: new Uint8Array() }

/** An engine whose store records when it is purged. `left` is the number of expired keys. */
function setup(options: Partial<IdempotencyOptions> = {}) {
	const runtime = virtualRuntime({ seed: 7 })
	const state = { left: 0, times: [] as number[], limits: new Set<unknown>(), error: undefined as unknown }
	const base = memoryIdempotencyStore({ runtime })
	const store = storeWith(
		{
			claim: async (request) => {
				if (state.error) throw state.error
				return base.claim(request)
			},
			purge: async (...args) => {
				state.times.push(runtime.now())
				state.limits.add(args)
				if (state.error) throw state.error
				const count = Math.min(state.left, args[0])
				state.left -= count
				return count
			},
		},
		base,
	)
	const engine = idempotency({ store, runtime, principal: () => 'ada', ...options })
	const request = async (key = 'k1') => {
		const begun = await engine.begin({ ...IDENTITY, key }, 'f')
		if (begun.kind === 'run') await engine.complete(begun.claim, RESPONSE)
	}
	return { runtime, engine, state, request }
}

const gaps = (times: readonly number[]) => times.slice(1).map((time, at) => time - (times[at] ?? 0))

test('runs about every hour with jitter, from the first request on', async () => {
	const { runtime, state, request } = setup()
	await runtime.advance(10 * HOUR_MS)
	expect(state.times).toEqual([])
	await request()
	await runtime.advance(100 * HOUR_MS)
	expect(state.times[0]).toBeLessThanOrEqual(11 * HOUR_MS)
	const waits = gaps(state.times)
	expect(waits.length).toBeGreaterThan(90)
	expect(waits.length).toBeLessThan(110)
	for (const wait of waits) {
		expect(wait).toBeGreaterThanOrEqual(0.75 * HOUR_MS)
		expect(wait).toBeLessThanOrEqual(1.25 * HOUR_MS)
	}
	expect(new Set(waits).size).toBeGreaterThan(80)
})

test('purgeEveryMs changes how often, and 0 switches it off', async () => {
	const often = setup({ purgeEveryMs: 60_000 })
	await often.request()
	await often.runtime.advance(HOUR_MS)
	expect(often.state.times.length).toBeGreaterThan(48)
	const never = setup({ purgeEveryMs: 0 })
	await never.request()
	await never.runtime.advance(100 * HOUR_MS)
	expect(never.state.times).toEqual([])
	expect(() => setup({ purgeEveryMs: -1 })).toThrow('Invalid option "purgeEveryMs"')
})

test('deletes a backlog exclusively, in batches with pauses', async () => {
	const { runtime, state, request } = setup()
	state.left = 2_300
	await request()
	await runtime.advance(HOUR_MS)
	expect(state.left).toBe(0)
	expect([...state.limits]).toEqual(Array.from({ length: 5 }, () => [500, true]))
	expect(gaps(state.times)).toEqual([100, 100, 100, 100])
})

test('deletes the expired keys of a store in memory', async () => {
	const runtime = virtualRuntime()
	const store = memoryIdempotencyStore({ runtime })
	const engine = idempotency({ store, runtime, principal: () => 'ada', retentionMs: 60_000 })
	const begun = await engine.begin(IDENTITY, 'f')
	if (begun.kind === 'run') await engine.complete(begun.claim, RESPONSE)
	await runtime.advance(3 * HOUR_MS)
	expect(store.purge(10)).toBe(0)
})

describe('errors', () => {
	test('are printed once, and the next purge follows', async () => {
		const printed = vi.spyOn(console, 'warn').mockImplementation(() => {})
		const { runtime, state, request } = setup()
		await request()
		state.error = new Error('deadlock detected')
		await runtime.advance(10 * HOUR_MS)
		expect(printed.mock.calls.flat()).toEqual([
			'yaoki: idempotency engine "idempotency" could not delete expired keys, and tries it again later: deadlock detected',
		])
		state.error = undefined
		state.left = 100
		await runtime.advance(2 * HOUR_MS)
		expect(state.left).toBe(0)
	})

	test('no purge while the circuit of the store is open', async () => {
		const { runtime, engine, state, request } = setup()
		await request()
		state.error = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
		for (let n = 0; n < 10; n++) await request(`k${n}`).catch(() => {})
		expect(engine.stats.storeCircuit).toBe('open')
		await runtime.advance(10 * HOUR_MS)
		expect(state.times).toEqual([])
		state.error = undefined
		for (let n = 0; n < 10; n++) await request(`later ${n}`)
		expect(engine.stats.storeCircuit).toBe('closed')
		await runtime.advance(2 * HOUR_MS)
		expect(state.times.length).toBeGreaterThan(0)
	})
})

describe('no timer', () => {
	test('is left after close, which waits for the current batch', async () => {
		const { runtime, engine, state, request } = setup()
		await request()
		await engine.close()
		await runtime.advance(10 * HOUR_MS)
		expect(state.times).toEqual([])
		await request('k2')
		await runtime.advance(10 * HOUR_MS)
		expect(state.times).toEqual([])
	})

	test.each([
		['Cloudflare Workers', () => vi.stubGlobal('WebSocketPair', class {})],
		['Workers by their user agent', () => vi.stubGlobal('navigator', { userAgent: 'Cloudflare-Workers' })],
		['AWS Lambda', () => vi.stubEnv('AWS_LAMBDA_FUNCTION_NAME', 'charge')],
	])('on %s', async (_, stub) => {
		stub()
		try {
			const { runtime, state, request } = setup()
			await request()
			await runtime.advance(10 * HOUR_MS)
			expect(state.times).toEqual([])
		} finally {
			vi.unstubAllGlobals()
			vi.unstubAllEnvs()
		}
	})

	test('keeps a process alive', async () => {
		const runtime = virtualRuntime()
		const setTimer = vi.spyOn(runtime, 'setTimer')
		const engine = idempotency({
			store: memoryIdempotencyStore({ runtime }),
			runtime,
			principal: () => 'ada',
		})
		const begun = await engine.begin(IDENTITY, 'f')
		if (begun.kind === 'run') await engine.complete(begun.claim, RESPONSE)
		await runtime.advance(5 * HOUR_MS)
		const kinds = setTimer.mock.calls.filter(([ms]) => ms > 60_000).map(([, , kind]) => kind)
		expect(new Set(kinds)).toEqual(new Set(['housekeeping']))
	})
})
