import { describe, expect, test } from 'vitest'
import { bulkhead, circuitBreaker, keyed, pipeline, rateLimiter, retry, retryBudget } from 'yaoki'
import { resilientFetch } from 'yaoki/http'
import { virtualRuntime } from 'yaoki/testing'
import { createLive } from '../../../src/dashboard/live/live.ts'
import { errorOf, fail } from './setup.ts'

const by = { by: 'operator' }

function setup(options = {}) {
	const runtime = virtualRuntime()
	const breaker = circuitBreaker({ failureThreshold: 2, resetTimeoutMs: 30_000, runtime, ...options })
	const live = createLive({ payments: breaker }, { runtime })
	const row = () => live.overview().circuits[0]
	const act = (action: 'isolate' | 'release' | 'reset') =>
		live.run({ action, source: 'payments', circuit: row()?.id ?? '' }, by).changed
	return { runtime, breaker, live, row, act }
}

describe('rows', () => {
	test('an open circuit has its error, the time, the next probe and the rejections', async () => {
		const { runtime, breaker, row } = setup()
		expect(row()).toMatchObject({ state: 'closed', sinceMs: null, errorRate: null, probeInMs: null })
		await breaker.execute(() => 1)
		for (let call = 0; call < 2; call++) await errorOf(runtime, breaker.execute(fail()))
		await runtime.advance(10_000)
		for (let call = 0; call < 20; call++) await errorOf(runtime, breaker.execute(fail()))
		expect(row()).toMatchObject({
			source: 'payments',
			state: 'open',
			calls: 3,
			failures: 2,
			errorRate: 2 / 3,
			sinceMs: 10_000,
			probeInMs: 20_000,
			lastError: 'HTTP 503',
			rejectedPerSecond: 2,
			isIsolatedHere: false,
		})
	})

	test('a circuit that opened before has no start', async () => {
		const { runtime, breaker } = setup()
		for (let call = 0; call < 2; call++) await errorOf(runtime, breaker.execute(fail()))
		const live = createLive({ payments: breaker }, { runtime })
		expect(live.overview().circuits[0]).toMatchObject({ state: 'open', sinceMs: null })
		expect(live.overview().problems[0]).toMatchObject({ kind: 'circuit-open', sinceMs: null })
	})

	test('a closed circuit with failures has the last error of its key', async () => {
		const runtime = virtualRuntime()
		const policy = keyed(
			({ key }) => key ?? '',
			() => circuitBreaker({ runtime }),
			{ runtime },
		)
		const live = createLive({ policy }, { runtime })
		for (const key of ['a', 'b', 'b']) await errorOf(runtime, policy.execute(fail(`down: ${key}`), { key }))
		const rows = live.overview().circuits.map(({ key, failures, lastError }) => [key, failures, lastError])
		expect(rows).toEqual([
			['b', 2, 'down: b'],
			['a', 1, 'down: a'],
		])
	})

	test('of many members the circuits that are not closed come first', async () => {
		const runtime = virtualRuntime()
		const policy = keyed(
			({ key }) => key ?? '',
			() => circuitBreaker({ failureThreshold: 1 }),
			{ runtime, maxKeys: 2_000 },
		)
		const live = createLive({ policy }, { runtime })
		for (let key = 0; key < 1_500; key++) await policy.execute(() => 1, { key: `k${key}` })
		await errorOf(runtime, policy.execute(fail(), { key: 'k1499' }))
		const { circuits } = live.overview()
		expect(circuits).toHaveLength(1_000)
		expect(circuits[0]).toMatchObject({ key: 'k1499', state: 'open' })
	})
})

describe('actions', () => {
	test('isolates, and releases what it has isolated', async () => {
		const { runtime, breaker, row, act } = setup()
		expect(act('isolate')).toBe(1)
		expect(act('isolate')).toBe(0)
		expect(row()).toMatchObject({ state: 'isolated', isIsolatedHere: true, probeInMs: null, sinceMs: 0 })
		expect(
			await errorOf(
				runtime,
				breaker.execute(() => 1),
			),
		).toMatchObject({ code: 'YAOKI_CIRCUIT_OPEN' })
		expect(act('release')).toBe(1)
		expect(breaker.currentState).toBe('closed')
		expect(act('release')).toBe(0)
	})

	test('the isolation of a program is not released', () => {
		const { breaker, act } = setup()
		breaker.isolate()
		act('isolate')
		expect(act('release')).toBe(1)
		expect(act('release')).toBe(0)
		expect(breaker.currentState).toBe('isolated')
	})

	test('reset closes an open circuit', async () => {
		const { runtime, breaker, act } = setup()
		for (let call = 0; call < 2; call++) await errorOf(runtime, breaker.execute(fail()))
		expect(act('reset')).toBe(1)
		expect(breaker.currentState).toBe('closed')
	})

	test('close releases every isolation, also of the circuit inside a fetch', async () => {
		const runtime = virtualRuntime()
		const request = resilientFetch({ runtime, fetch: async () => new Response('ok') })
		const live = createLive({ request }, { runtime })
		await request('https://api.example.com/')
		const circuit = live.overview().circuits[0]?.id ?? ''
		live.run({ action: 'isolate', source: 'request', circuit }, by)
		expect(live.overview().circuits[0]).toMatchObject({ state: 'isolated', key: 'https://api.example.com' })
		live.close()
		expect(await errorOf(runtime, request('https://api.example.com/'))).toBeUndefined()
	})

	test.each([
		['payments', '99', 'circuit'],
		['__proto__', '1', 'source'],
	])('rejects the circuit %s %s', (source, circuit, argument) => {
		const { live } = setup()
		live.overview()
		expect(() => live.run({ action: 'isolate', source, circuit }, by)).toThrow(
			expect.objectContaining({ code: 'YAOKI_INVALID_ARGUMENT', argument }),
		)
	})
})

test('limits have a row each, the nearest to its limit first, and a shared budget one', async () => {
	const runtime = virtualRuntime()
	const full = bulkhead({ maxConcurrent: 2, runtime })
	const budget = retryBudget({ runtime })
	const limiter = rateLimiter({ limit: 5, runtime })
	const first = pipeline({ runtime }, retry({ budget }), retry({ budget, name: 'second' }))
	const live = createLive({ full, limiter, first }, { runtime })
	void full.execute(() => new Promise(() => {}))
	expect(live.overview().limits).toMatchObject([
		{ kind: 'bulkhead', used: 1, limit: 2, queued: 0 },
		{ kind: 'rate-limiter', available: 5, limit: 5 },
		{ kind: 'budget', source: 'first', used: 0 },
	])
})

test('retries are counted over the last minute', async () => {
	const runtime = virtualRuntime()
	const policy = retry({ maxRetries: 2, baseDelayMs: 1, maxDelayMs: 1, runtime })
	const live = createLive({ policy }, { runtime })
	await errorOf(runtime, policy.execute(fail()))
	await errorOf(
		runtime,
		policy.execute(({ attempt }) => {
			if (attempt === 0) throw new Error('once')
		}),
	)
	await policy.execute(() => 1)
	expect(live.overview().retries[0]).toMatchObject({
		successRate: 0.5,
		meanRetries: 1.5,
		retriesPerSecond: 3,
	})
	expect(live.overview().failedCalls).toBe(1)
	await runtime.advance(40_000)
	expect(live.overview().retries[0]?.failuresPerSecond).toBeCloseTo(1 / 40)
	await runtime.advance(30_000)
	const [row] = live.overview().retries
	expect(row).toMatchObject({ successRate: null, meanRetries: null, retriesPerSecond: 0 })
	expect(row?.retries.at(-8)).toBe(3)
})

test('what another half shows is left out, and a client that is given twice is observed once', () => {
	const runtime = virtualRuntime()
	const policy = retry({ runtime })
	const other = { '~observable': () => ({ kind: 'outbox', stats: () => undefined }) }
	const live = createLive({ policy, other }, { runtime })
	expect(live.overview().retries.map(({ source }) => source)).toEqual(['policy'])
})
