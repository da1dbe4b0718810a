import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import {
	adaptiveThrottle,
	bulkhead,
	circuitBreaker,
	hedge,
	keyed,
	pipeline,
	rateLimiter,
	retry,
	retryBudget,
	tokenBudget,
} from 'yaoki'
import { ResilientHttpClient } from 'yaoki/http'
import { Outbox, sqliteOutboxStore } from 'yaoki/outbox'
import { virtualRuntime } from 'yaoki/testing'
import { observationOf } from '../../../src/core/observe/observation.ts'
import { inMemoryMetrics } from '../../../src/telemetry/in-memory/in-memory.ts'
import type { ObservedSource } from '../../../src/telemetry/observe/exporter.ts'
import { eventually } from '../../support/eventually.ts'
import { parseExposition } from '../parse-exposition.ts'
import { sourceOf } from '../source.ts'

/** Returns the gauges as `name{labels} value`, without those that are 0. */
async function scrape(...sources: readonly ObservedSource[]) {
	const metrics = inMemoryMetrics()
	for (const source of sources) metrics.attach(source)
	return linesOf(await metrics.toPrometheus())
}

const linesOf = (text: string) =>
	parseExposition(text)
		.samples.filter(({ value }) => value > 0)
		.map(({ name, labels, value }) => `${name}{${Object.values(labels).join()}} ${value}`)

describe('gauges of policies', () => {
	test('gauges of policies are those of all policies of a pipeline', async () => {
		const budget = tokenBudget({ maxTokens: 10 })
		const policy = pipeline(
			bulkhead({ maxConcurrent: 4 }),
			circuitBreaker(),
			rateLimiter({ limit: 3, intervalMs: 60_000 }),
			adaptiveThrottle(),
			retry({ budget }),
			hedge({ delayMs: 50, budget }),
		)
		const call = Promise.withResolvers()
		const running = policy.execute(() => call.promise)
		expect(await scrape(sourceOf({ members: () => [['', policy]] }))).toEqual([
			'yaoki_circuit_breakers{payments,closed} 1',
			'yaoki_bulkhead_concurrent_calls{payments} 1',
			'yaoki_bulkhead_max_concurrent_calls{payments} 4',
			'yaoki_retry_budget_available_retries{payments} 5',
			'yaoki_rate_limiter_available_tokens{payments} 2',
		])
		call.resolve('done')
		await running
	})

	test('gauges of several circuits show the worst state and all numbers', async () => {
		const [closed, halfOpen, isolated] = [circuitBreaker(), circuitBreaker(), circuitBreaker()]
		const source = (...policies: readonly unknown[]) =>
			sourceOf({ members: () => policies.map((policy) => ['', policy as never] as const) })
		// The breaker reports what its circuit reports, without a probe that must be awaited.
		vi.spyOn(halfOpen, 'stats', 'get').mockReturnValue({ ...halfOpen.stats, state: 'half-open' })
		isolated.isolate()
		const stateOf = async (...policies: readonly unknown[]) =>
			(await scrape(source(...policies))).find((line) => line.startsWith('circuit_breaker_state'))
		expect(await stateOf(closed)).toBeUndefined()
		expect(await stateOf(closed, halfOpen)).toBe('circuit_breaker_state{payments} 2')
		expect(await stateOf(halfOpen, isolated, closed)).toBe('circuit_breaker_state{payments} 1')
		expect(await scrape(source(closed, halfOpen, isolated))).toEqual([
			'circuit_breaker_state{payments} 1',
			'yaoki_circuit_breaker_isolated{payments} 1',
			'yaoki_circuit_breakers{payments,closed} 1',
			'yaoki_circuit_breakers{payments,half-open} 1',
			'yaoki_circuit_breakers{payments,isolated} 1',
		])
	})

	test('gauges of more than 10,000 policies include every circuit that is not closed, and count the others', async () => {
		const perTenant = keyed(
			({ key = '' }) => key,
			() => circuitBreaker(),
			{ maxKeys: 20_000 },
		)
		for (let tenant = 0; tenant < 10_002; tenant++) perTenant.get(`${tenant}`)
		perTenant.get('10001').isolate()
		const policy = pipeline(perTenant)
		expect(await scrape(sourceOf({ members: () => [['', policy]] }))).toEqual([
			'circuit_breaker_state{payments} 1',
			'yaoki_circuit_breaker_isolated{payments} 1',
			'yaoki_circuit_breakers{payments,closed} 10000',
			'yaoki_circuit_breakers{payments,isolated} 1',
			'yaoki_telemetry_skipped_policies{payments} 1',
		])
	})

	test('gauges of keyed policies are combined by service: slots are added, and the lowest budget counts', async () => {
		const budgets = [retryBudget({ minRetriesPerSecond: 10 }), tokenBudget({ maxTokens: 2 })]
		const perTenant = keyed(
			({ key = '' }) => key,
			() => pipeline(bulkhead({ maxConcurrent: 5 }), retry({ budget: budgets.pop() })),
		)
		perTenant.get('a')
		perTenant.get('b')
		const policy = pipeline(perTenant)
		expect(await scrape(sourceOf({ members: () => [['', policy]] }))).toEqual([
			'yaoki_bulkhead_max_concurrent_calls{payments} 10',
			'yaoki_retry_budget_available_retries{payments} 1',
		])
		const byKey = sourceOf({ members: () => [['', policy]], serviceOf: ({ key }) => key ?? '' })
		expect(await scrape(byKey)).toEqual(
			expect.arrayContaining([
				'yaoki_bulkhead_max_concurrent_calls{a} 5',
				'yaoki_bulkhead_max_concurrent_calls{b} 5',
			]),
		)
	})

	test('count a policy that several pipelines share once', async () => {
		const shared = bulkhead({ maxConcurrent: 4 })
		const policies = [pipeline(shared, retry()), pipeline(shared)]
		const source = sourceOf({ members: () => policies.map((policy) => ['', policy] as const) })
		expect(await scrape(source)).toEqual(['yaoki_bulkhead_max_concurrent_calls{payments} 4'])
	})

	test('gauges of policies have at most maxSeries series', async () => {
		const metrics = inMemoryMetrics({ maxSeries: 2 })
		const policies = ['a', 'b', 'c', 'd'].map((key) => [key, bulkhead({ maxConcurrent: 1 })] as const)
		metrics.attach(sourceOf({ members: () => policies, serviceOf: ({ key }) => key ?? '' }))
		expect(linesOf(await metrics.toPrometheus())).toEqual([
			'yaoki_bulkhead_max_concurrent_calls{a} 1',
			'yaoki_bulkhead_max_concurrent_calls{b} 1',
			'yaoki_bulkhead_max_concurrent_calls{other} 2',
			'yaoki_telemetry_overflows_total{yaoki_bulkhead_concurrent_calls} 2',
			'yaoki_telemetry_overflows_total{yaoki_bulkhead_queued_calls} 2',
			'yaoki_telemetry_overflows_total{yaoki_bulkhead_max_concurrent_calls} 2',
		])
	})

	test('create the series of openings, because rates do not see how a series appears', async () => {
		const metrics = inMemoryMetrics()
		metrics.attach(sourceOf({ members: () => [['', circuitBreaker()]] }))
		const text = await metrics.toPrometheus()
		for (const from of ['closed', 'half-open'])
			expect(text).toContain(
				`yaoki_circuit_breaker_transitions_total{service="payments",from="${from}",to="open"} 0`,
			)
	})
})

test('gauges of a client have its pauses and its requests in flight', async () => {
	const pending = Promise.withResolvers<Response>()
	const responses = [new Response('', { status: 429, headers: { 'retry-after': '60' } })]
	const client = new ResilientHttpClient({
		runtime: virtualRuntime(),
		maxRetries: 0,
		circuitBreakerKey: ({ url }) => new URL(url).pathname,
		fetch: async () => responses.pop() ?? pending.promise,
	})
	await client.get('https://one.test/a').catch(() => {})
	const requests = [client.get('https://two.test/a'), client.get('https://two.test/b')]
	const { members, stats } = observationOf(client)
	const serviceOf: ObservedSource['serviceOf'] = ({ key = '' }) => new URL(key.split(' ')[0] ?? '').host
	await eventually(() => expect(client.stats.attempts).toBe(3))
	const lines = await scrape(sourceOf({ kind: 'http', serviceOf, members, stats }))
	expect(lines).toEqual(
		expect.arrayContaining([
			'yaoki_http_in_flight_requests{two.test} 2',
			'yaoki_http_paused_seconds{one.test} 60',
		]),
	)
	pending.resolve(new Response('ok'))
	await Promise.all(requests)
})

test('gauges of an outbox are those of its destinations', async () => {
	const outbox = new Outbox({ store: sqliteOutboxStore(':memory:'), outsideTransaction: 'allow' })
	onTestFinished(() => outbox.close())
	await outbox.migrate()
	await outbox.enqueue({ topic: 'order.created', payload: {} })
	await outbox.pause('order.created', { by: 'test', reason: 'maintenance' })
	const metrics = inMemoryMetrics()
	metrics.attach(sourceOf({ kind: 'outbox', name: 'orders', stats: () => outbox.stats() }))
	const text = await metrics.toPrometheus()
	expect(linesOf(text)).toContain('yaoki_outbox_due_messages{orders,order.created} 1')
	expect(linesOf(text)).toEqual(
		expect.arrayContaining([
			'yaoki_outbox_paused_destinations{orders} 1',
			'yaoki_outbox_pause_state{orders,order.created,operator} 1',
		]),
	)
	const perDestination = inMemoryMetrics()
	const serviceOf: ObservedSource['serviceOf'] = ({ destination = 'orders' }) => destination
	perDestination.attach(sourceOf({ kind: 'outbox', name: 'orders', serviceOf, stats: () => outbox.stats() }))
	expect(linesOf(await perDestination.toPrometheus())).toEqual(
		expect.arrayContaining([
			'yaoki_outbox_due_messages{order.created,order.created} 1',
			'yaoki_outbox_paused_destinations{orders} 1',
		]),
	)
	// The age is 0 if the clock has not advanced since the message was enqueued.
	expect(text.match(/^yaoki_outbox_oldest_age_seconds\{.*\} [\d.]+$/gm)).toHaveLength(1)
})

test('gauges of an idempotency engine are its requests and the circuit of its store', async () => {
	const members = () => [['store', circuitBreaker()]] as const
	const stats = () => ({ running: 3, storeCircuit: 'closed' })
	expect(await scrape(sourceOf({ kind: 'idempotency', members, stats }))).toEqual([
		'yaoki_circuit_breakers{payments,closed} 1',
		'yaoki_idempotency_running_requests{payments} 3',
	])
})

describe('a source that cannot be read', () => {
	beforeEach(() => {
		vi.spyOn(console, 'warn').mockReturnValue()
	})
	afterEach(() => {
		vi.useRealTimers()
	})

	const good = sourceOf({ name: 'good', members: () => [['', bulkhead({ maxConcurrent: 1 })]] })
	const expected = [
		'yaoki_bulkhead_max_concurrent_calls{good} 1',
		'yaoki_telemetry_failures_total{inMemoryMetrics} 1',
	]
	const fails = () => {
		throw new Error('connection lost')
	}

	test.each<[string, Partial<ObservedSource>]>([
		['stats() throws', { kind: 'outbox', stats: fails }],
		['stats() rejects', { kind: 'outbox', stats: async () => fails() }],
		['stats() returns nothing useful', { kind: 'outbox', stats: async () => null }],
		['members() throws', { members: fails }],
		['a policy throws', { members: () => [['', { name: 'x', leaves: fails } as never]] }],
	])('a source that cannot be read is left out, and reported once: %s', async (_, source) => {
		vi.useFakeTimers()
		const metrics = inMemoryMetrics()
		metrics.attach(sourceOf({ name: 'bad', ...source }))
		metrics.attach(good)
		expect(linesOf(await metrics.toPrometheus())).toEqual(expected)
		await vi.advanceTimersByTimeAsync(1_000)
		expect(linesOf(await metrics.toPrometheus())).toContain(
			'yaoki_telemetry_failures_total{inMemoryMetrics} 2',
		)
		expect(console.warn).toHaveBeenCalledOnce()
		expect(vi.mocked(console.warn).mock.calls[0]?.[0]).toMatch(/^yaoki: telemetry \(inMemoryMetrics\): bad: /)
	})

	test('a source that cannot be read is left out after 2 seconds without an answer, and not asked again until it answers', async () => {
		vi.useFakeTimers()
		const answer = Promise.withResolvers<unknown>()
		const stats = vi.fn(() => answer.promise)
		const metrics = inMemoryMetrics()
		metrics.attach(sourceOf({ name: 'bad', kind: 'idempotency', stats }))
		metrics.attach(good)
		const first = metrics.toPrometheus()
		await vi.advanceTimersByTimeAsync(2_000)
		expect(linesOf(await first)).toEqual(expected)
		await vi.advanceTimersByTimeAsync(1_000)
		expect(linesOf(await metrics.toPrometheus())).toContain(
			'yaoki_telemetry_failures_total{inMemoryMetrics} 2',
		)
		expect(stats).toHaveBeenCalledOnce()
		expect(console.warn).toHaveBeenCalledOnce()
		answer.resolve({})
		stats.mockResolvedValue({ running: 7, storeCircuit: 'closed' })
		await vi.advanceTimersByTimeAsync(1_000)
		expect(linesOf(await metrics.toPrometheus())).toContain('yaoki_idempotency_running_requests{bad} 7')
		expect(vi.getTimerCount()).toBe(0)
	})

	test('a source that cannot be read is left out of the snapshot', () => {
		const metrics = inMemoryMetrics()
		metrics.attach(sourceOf({ members: fails }))
		expect(metrics.snapshot().total.circuits.state).toBeNull()
		expect(console.warn).toHaveBeenCalledOnce()
	})
})

describe('reads', () => {
	afterEach(() => {
		vi.useRealTimers()
	})

	test('reads are shared by concurrent scrapes and kept for a second', async () => {
		vi.useFakeTimers()
		const stats = vi.fn(async () => ({ running: 1, storeCircuit: 'closed' }))
		const metrics = inMemoryMetrics()
		metrics.attach(sourceOf({ kind: 'idempotency', stats }))
		await Promise.all([metrics.toPrometheus(), metrics.toPrometheus()])
		await vi.advanceTimersByTimeAsync(999)
		await metrics.toPrometheus()
		expect(stats).toHaveBeenCalledTimes(1)
		await vi.advanceTimersByTimeAsync(1)
		await metrics.toPrometheus()
		expect(stats).toHaveBeenCalledTimes(2)
	})

	test('reads do not include a source that is no longer observed', async () => {
		vi.useFakeTimers()
		const metrics = inMemoryMetrics()
		const { detach } = metrics.attach(
			sourceOf({ kind: 'idempotency', stats: () => ({ running: 1, storeCircuit: 'closed' }) }),
		)
		expect(await metrics.toPrometheus()).toContain('yaoki_idempotency_running_requests')
		detach?.()
		await vi.advanceTimersByTimeAsync(1_000)
		expect(await metrics.toPrometheus()).not.toContain('yaoki_idempotency_running_requests')
	})
})

test('a store whose statistics lack the name of a destination made every later scrape fail', async () => {
	const count = { count: 1 }
	const destinations = [{ due: count, scheduled: count, inFlight: count, dead: count }]
	const stats = () => ({ destinations, circuits: [], relays: [], endedRelays: [], throughput: 1 })
	const metrics = inMemoryMetrics()
	metrics.attach(sourceOf({ kind: 'outbox', name: 'orders', stats }))
	expect(linesOf(await metrics.toPrometheus())).toContain('yaoki_outbox_due_messages{orders,undefined} 1')
	expect(linesOf(await metrics.toPrometheus())).toContain(
		'yaoki_outbox_throughput_messages_per_second{orders} 1',
	)
})
