import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { bulkhead, circuitBreaker, fallback, keyed, pipeline, rateLimiter, retry } from 'yaoki'
import { resilientFetch } from 'yaoki/http'
import { virtualRuntime } from 'yaoki/testing'
import type { FailedCall } from '../../../src/dashboard/contract.ts'
import { FailedCallBuffer, type ShownParts } from '../../../src/dashboard/live/failed-calls.ts'
import { createLive } from '../../../src/dashboard/live/live.ts'
import { errorOf, fail } from './setup.ts'

type Facts = [source: string, key: string | null, reason: string]

const call = (...[source, key, reason]: Facts): Omit<FailedCall, 'number'> => ({
	at: 0,
	source,
	policy: 'policy',
	key,
	call: null,
	method: null,
	outcome: 'failure',
	stop: reason,
	reason,
	attempts: 1,
	durationMs: 1,
	error: 'error',
	explanation: [],
})

const SHOWN: ShownParts<Facts> = {
	source: ([source]) => source,
	key: ([, key]) => key,
	reason: ([, , reason]) => reason,
	call: (facts) => call(...facts),
}

const NAMES = ['a', 'b', 'c']

test('pages are those of two lists that keep the last failures and the last rejections, whatever the filter', () => {
	const name = fc.constantFrom(...NAMES)
	const calls = fc.array(fc.tuple(name, fc.option(name), name, fc.boolean()), { maxLength: 300 })
	const filter = fc.record({ source: name, key: name, reason: name }, { requiredKeys: [] })
	fc.assert(
		fc.property(calls, fc.integer({ min: 1, max: 150 }), filter, (added, size, query) => {
			const buffer = new FailedCallBuffer(SHOWN, size)
			for (const [source, key, reason, isRejection] of added) buffer.add([source, key, reason], isRejection)
			const numbered = added.map(([source, key, reason, isRejection], index) => ({
				number: index + 1,
				source,
				key,
				reason,
				isRejection,
			}))
			const failures = numbered.filter((one) => !one.isRejection)
			const rejections = numbered.filter((one) => one.isRejection)
			const kept = [...failures.slice(-size), ...rejections.slice(-size)].sort((a, b) => a.number - b.number)
			const expected = kept
				.filter(
					(one) =>
						(query.source ?? one.source) === one.source &&
						(query.key ?? one.key) === one.key &&
						(query.reason ?? one.reason) === one.reason,
				)
				.map(({ number }) => number)
				.reverse()
			const found: number[] = []
			let before: string | undefined
			for (;;) {
				const page = buffer.page({ ...query, before })
				expect(page.leftOut).toEqual({
					failures: Math.max(0, failures.length - size),
					rejections: Math.max(0, rejections.length - size),
				})
				expect(page.sources).toEqual([...new Set(kept.map(({ source }) => source))].sort())
				expect(page.calls.length).toBeLessThanOrEqual(50)
				found.push(...page.calls.map(({ number }) => number))
				if (!page.hasMore) break
				before = String(found.at(-1))
			}
			expect(found).toEqual(expected)
		}),
	)
})

test.each(['', '-1', '1.5', 'x', '9'.repeat(400)])('rejects %j as before', (before) => {
	expect(() => new FailedCallBuffer(SHOWN).page({ before })).toThrow(
		expect.objectContaining({ code: 'YAOKI_INVALID_ARGUMENT', argument: 'before' }),
	)
})

test.each([0, 1.5, Number.NaN])('rejects %s as maxFailedCalls', (maxFailedCalls) => {
	expect(() => createLive({}, { maxFailedCalls })).toThrow(
		expect.objectContaining({ code: 'YAOKI_INVALID_OPTION', optionPath: 'maxFailedCalls' }),
	)
})

test('explains the calls of a page, and no others: an outage fails thousands between two reads', async () => {
	const runtime = virtualRuntime()
	const policy = retry({ maxRetries: 0, runtime })
	let described = 0
	const redact = (text: string, field: string) => {
		if (field === 'errorMessage') described++
		return text
	}
	const live = createLive({ policy }, { runtime, redact, maxFailedCalls: 10_000 })
	for (let index = 0; index < 2_000; index++)
		await policy.execute(fail(`HTTP 503 of ${index}`)).catch(() => {})
	expect(live.overview().problems).toMatchObject([{ lastError: 'HTTP 503 of 1999' }])
	const ofOverview = described
	expect(ofOverview).toBeLessThan(10)
	expect(live.calls({ source: 'policy', reason: 'retries-exhausted' }).calls).toHaveLength(50)
	expect(described).toBeLessThanOrEqual(50 * ofOverview)
})

test('has the explanation of a call whose retries are exhausted', async () => {
	const clock = virtualRuntime()
	const observed = pipeline(
		{ name: 'charge', runtime: clock },
		retry({ maxRetries: 2, baseDelayMs: 100, jitterStrategy: 'none' }),
	)
	const live = createLive({ pay: observed }, { runtime: clock })
	await errorOf(clock, observed.execute(fail('socket closed'), { key: 'tenant-7', name: 'capture' }))
	expect(live.calls({}).calls).toEqual([
		{
			number: 1,
			at: clock.wallNow(),
			source: 'pay',
			policy: 'charge',
			key: 'tenant-7',
			call: 'capture',
			method: null,
			outcome: 'failure',
			stop: 'retries-exhausted',
			reason: 'retries-exhausted',
			attempts: 3,
			durationMs: 300,
			error: 'socket closed',
			explanation: [
				'capture: 3 attempts in 300 ms, stopped: retries-exhausted',
				'  #1 at 0 ms, took 0 ms: transient (Error: socket closed), retry in 100 ms (backoff)',
				'  #2 at 100 ms, took 0 ms: transient (Error: socket closed), retry in 200 ms (backoff)',
				'  #3 at 300 ms, took 0 ms: transient (Error: socket closed)',
			],
		},
	])
})

describe('outcomes and reasons', () => {
	test('of rejections by each policy, and of a fallback', async () => {
		const runtime = virtualRuntime()
		const breaker = circuitBreaker({ runtime })
		breaker.isolate()
		const full = bulkhead({ maxConcurrent: 1, maxQueue: 0, runtime })
		const limiter = rateLimiter({ limit: 1, intervalMs: 60_000, runtime })
		const tripped = pipeline({ runtime }, retry(), circuitBreaker({ failureThreshold: 1 }))
		const degraded = pipeline({ runtime }, fallback('cached'), retry({ maxRetries: 0 }))
		const live = createLive({ breaker, full, limiter, tripped, degraded }, { runtime })
		void full.execute(() => new Promise(() => {}))
		await limiter.execute(() => 1)
		for (const policy of [breaker, full, limiter, tripped, tripped, degraded])
			await errorOf(runtime, policy.execute(fail()))
		const found = live
			.calls({})
			.calls.map(({ source, outcome, reason, attempts }) => [source, outcome, reason, attempts])
		expect(found.reverse()).toEqual([
			['breaker', 'rejected', 'isolated', 0],
			['full', 'rejected', 'bulkhead-full', 0],
			['limiter', 'rejected', 'rate-limited', 0],
			// The breaker rejects the retry of the first call, which has failed before.
			['tripped', 'failure', 'cancelled', 2],
			['tripped', 'rejected', 'circuit-open', 0],
			['degraded', 'fallback', 'fallback', 1],
		])
		expect(live.calls({ reason: 'isolated' }).calls.map(({ source }) => source)).toEqual(['breaker'])
	})

	test('an operation that throws a primitive, or the same error again, has its own explanation', async () => {
		const clock = virtualRuntime()
		const policy = retry({ maxRetries: 1, baseDelayMs: 10, runtime: clock })
		const live = createLive({ policy }, { runtime: clock })
		const error = new Error('constant')
		for (const thrown of ['text', error, error])
			await errorOf(
				clock,
				policy.execute(() => {
					throw thrown
				}),
			)
		const { calls } = live.calls({})
		expect(calls.map((one) => one.explanation.length)).toEqual([3, 3, 3])
		expect(calls.map((one) => one.error)).toEqual(['constant', 'constant', 'text'])
	})
})

test('a client adds its hint to the explanation', async () => {
	const clock = virtualRuntime()
	const request = resilientFetch({
		runtime: clock,
		fetch: async () => new Response('down', { status: 503 }),
	})
	const live = createLive({ request }, { runtime: clock })
	await errorOf(clock, request('https://api.example.com/orders', { method: 'POST', body: '{}' }))
	const [failed] = live.calls({}).calls
	expect(failed).toMatchObject({
		source: 'request',
		key: 'https://api.example.com',
		method: 'POST',
		stop: 'not-idempotent',
	})
	expect(failed?.explanation[0]).toContain('idempotency')
})

describe('hostile errors', () => {
	const entryOf = async (message: string, name = 'Error') => {
		const clock = virtualRuntime()
		const policy = retry({ maxRetries: 1, baseDelayMs: 10, runtime: clock })
		const live = createLive({ policy }, { runtime: clock })
		await errorOf(
			clock,
			policy.execute(
				() => {
					throw Object.assign(new Error(message), { name })
				},
				{ key: message, name: message },
			),
		)
		return live.calls({}).calls[0]
	}

	test('a message, a name and a key of a megabyte are bounded', async () => {
		const entry = await entryOf('x'.repeat(1_000_000), 'n'.repeat(1_000_000))
		expect(JSON.stringify(entry).length).toBeLessThan(5_000)
		expect(entry?.attempts).toBe(2)
	})

	test('control characters and line breaks become text of the same line', async () => {
		const entry = await entryOf('a\u001b[2J\n  #9: success\u202eb')
		expect(entry?.explanation).toHaveLength(3)
		expect(JSON.stringify(entry)).not.toMatch(/\\u001b|\\n|\u202e/)
	})

	test('secrets are hidden as in logs, also in a URL that is cut', async () => {
		const url = `https://user:s3cret@api.example.com/${'p'.repeat(900)}`
		const entry = await entryOf(`${'-'.repeat(480)} ${url}?token=s3cret password=s3cret bearer s3cret`)
		expect(JSON.stringify(entry)).not.toContain('s3cret')
	})

	test('a call with thousands of attempts is shortened', async () => {
		const clock = virtualRuntime()
		const policy = retry({ maxRetries: 2_000, baseDelayMs: 1, maxDelayMs: 1, runtime: clock })
		const live = createLive({ policy }, { runtime: clock })
		await errorOf(clock, policy.execute(fail('y'.repeat(2_000))))
		const entry = live.calls({}).calls[0]
		expect(entry?.attempts).toBe(2_001)
		expect(entry?.explanation).toHaveLength(14)
		expect(entry?.explanation[0]).toContain('2001 attempts')
		expect(entry?.explanation[7]).toBe('  (1989 more)')
		expect(JSON.stringify(entry).length).toBeLessThan(10_000)
	})

	test('what redact throws or returns affects no call', async () => {
		const clock = virtualRuntime()
		const policy = retry({ maxRetries: 0, runtime: clock })
		const live = createLive({ policy }, { runtime: clock, redact: (text) => text.replace('tenant', '?') })
		const error = await errorOf(clock, policy.execute(fail('tenant 7')))
		expect(error).toMatchObject({ message: 'tenant 7' })
		expect(live.calls({}).calls[0]?.error).toBe('? 7')
	})
})

test('thousands of rejections by an open circuit do not displace the failures that opened it', async () => {
	const runtime = virtualRuntime()
	const breaker = () => circuitBreaker({ failureThreshold: 2, resetTimeoutMs: 600_000 })
	const plain = pipeline({ runtime }, retry({ maxRetries: 0 }), breaker())
	const degraded = pipeline({ runtime }, fallback('cached'), retry({ maxRetries: 0 }), breaker())
	const live = createLive({ plain, degraded }, { runtime, maxFailedCalls: 10 })
	for (let call = 0; call < 1_000; call++)
		for (const policy of [plain, degraded])
			await errorOf(runtime, policy.execute(fail('connect ECONNREFUSED')))
	const { calls, leftOut } = live.calls({})
	expect(calls.slice(10).map(({ source, number, error }) => [source, number, error])).toEqual([
		['degraded', 4, 'connect ECONNREFUSED'],
		['plain', 3, 'connect ECONNREFUSED'],
		['degraded', 2, 'connect ECONNREFUSED'],
		['plain', 1, 'connect ECONNREFUSED'],
	])
	expect(calls.map(({ number }) => number).slice(0, 10)).toEqual([
		2_000, 1_999, 1_998, 1_997, 1_996, 1_995, 1_994, 1_993, 1_992, 1_991,
	])
	expect(calls).toHaveLength(14)
	expect(leftOut).toEqual({ failures: 0, rejections: 1_986 })
	expect(live.calls({ reason: 'circuit-open' }).calls).toHaveLength(5)
	expect(live.overview().problems[0]).toMatchObject({ lastError: 'connect ECONNREFUSED' })
})

test('memory does not grow with keys and calls', async () => {
	const clock = virtualRuntime()
	const policy = pipeline(
		{ runtime: clock },
		keyed(
			({ key }) => key ?? '',
			() => circuitBreaker({ failureThreshold: 1 }),
			{ maxKeys: 2_000 },
		),
	)
	const live = createLive({ policy }, { runtime: clock, maxFailedCalls: 20 })
	for (let key = 0; key < 3_000; key++) await errorOf(clock, policy.execute(fail(), { key: `k${key}` }))
	const { circuits, failedCalls } = live.overview()
	expect(failedCalls).toBe(3_000)
	expect(circuits).toHaveLength(1_000)
	expect(live.calls({})).toMatchObject({ leftOut: { failures: 2_980, rejections: 0 } })
	expect(live.calls({}).calls).toHaveLength(20)
})
