import { describe, expect, test } from 'vitest'
import { DeadlineExceededError } from '../../../src/core/errors/errors.ts'
import type { CallEnd } from '../../../src/core/observe/observer.ts'
import { inMemoryMetrics } from '../../../src/telemetry/in-memory/in-memory.ts'
import type { ObservedSource } from '../../../src/telemetry/observe/exporter.ts'
import { createCallEnd } from '../call-end.ts'
import { type ParsedSample, parseExposition } from '../parse-exposition.ts'
import { eventOf, sourceOf } from '../source.ts'

/** Returns the samples of a source after events and calls, as `name{labels} value`; without those that are 0. */
async function collect(source: Partial<ObservedSource>, ...seen: readonly (CallEnd | [string, object?])[]) {
	const metrics = inMemoryMetrics()
	const { onEvent, onCallEnd } = metrics.attach(sourceOf(source))
	for (const one of seen)
		if (Array.isArray(one)) onEvent?.(eventOf(...one))
		else onCallEnd?.(one as CallEnd)
	return parseExposition(await metrics.toPrometheus()).samples.filter(({ value }) => value > 0)
}

const lines = (samples: readonly ParsedSample[]) =>
	samples
		.filter(({ name }) => !/_(bucket|sum)$/.test(name))
		.map(({ name, labels, value }) => `${name}{${Object.values(labels).join()}} ${value}`)

describe('calls', () => {
	test('calls are counted by outcome, with attempts and duration', async () => {
		const samples = await collect(
			{},
			createCallEnd(),
			createCallEnd({ outcome: 'rejected', attempts: 0, durationMs: 0 }),
			createCallEnd({ outcome: 'fallback' }),
			createCallEnd({ outcome: 'failure', durationMs: 6_000 }),
		)
		expect(lines(samples)).toEqual([
			'yaoki_calls_total{payments,success} 1',
			'yaoki_calls_total{payments,failure} 1',
			'yaoki_calls_total{payments,rejected} 1',
			'yaoki_calls_total{payments,fallback} 1',
			'yaoki_call_duration_seconds_count{payments} 4',
			'yaoki_attempts_total{payments} 3',
		])
		const sum = samples.find(({ name }) => name === 'yaoki_call_duration_seconds_sum')
		expect(sum?.value).toBeCloseTo(6.04)
		const below5 = samples.find(({ name, labels }) => name.endsWith('_bucket') && labels['le'] === '5')
		expect(below5?.value).toBe(3)
	})

	test('calls with retries are counted by result; a fallback is no success of the retries', async () => {
		const retried = { attempts: 3, retries: 2, durationMs: 700 }
		const samples = await collect(
			{ kind: 'http', name: 'api.example.com' },
			createCallEnd(retried),
			createCallEnd({ ...retried, outcome: 'fallback' }),
			createCallEnd({ ...retried, outcome: 'failure' }),
		)
		expect(lines(samples)).toEqual(
			expect.arrayContaining([
				'http_client_retry_duration_seconds_count{api.example.com,success} 2',
				'http_client_retry_duration_seconds_count{api.example.com,failure} 1',
				'yaoki_retries_total{api.example.com} 6',
				'yaoki_retried_calls_total{api.example.com,success} 1',
				'yaoki_retried_calls_total{api.example.com,failure} 2',
			]),
		)
	})

	test('calls of policies are not in the metrics of HTTP clients', async () => {
		const samples = await collect({}, createCallEnd({ retries: 1 }), ['retry_attempt', { statusCode: 503 }])
		expect(samples.filter(({ name }) => name.startsWith('http_client'))).toEqual([])
	})

	test('calls that failed because of their deadline are counted, also if the error is hostile', async () => {
		const hostile = new Proxy({}, { get: () => expect.unreachable() })
		const samples = await collect(
			{},
			createCallEnd({ outcome: 'failure', error: new DeadlineExceededError() }),
			createCallEnd({ outcome: 'failure', error: hostile }),
			createCallEnd({ outcome: 'failure', error: undefined }),
		)
		expect(lines(samples)).toContain('yaoki_deadlines_exceeded_total{payments} 1')
		expect(lines(samples)).toContain('yaoki_calls_total{payments,failure} 3')
	})

	test('create the series of retries with 0, because rates do not see how a series appears', async () => {
		const metrics = inMemoryMetrics()
		metrics.attach(sourceOf()).onCallEnd?.(createCallEnd())
		const text = await metrics.toPrometheus()
		expect(text).toContain('yaoki_retried_calls_total{service="payments",result="success"} 0')
		expect(text).toContain('yaoki_retries_total{service="payments"} 0')
		expect(text).toContain('yaoki_calls_total{service="payments",outcome="failure"} 0')
	})
})

describe('events of policies', () => {
	test.each<[string, object, string | undefined]>([
		['retry_failure', { stop: 'budget' }, 'yaoki_retries_stopped_total{payments,budget} 1'],
		['rejected', { reason: 'circuit-open' }, 'yaoki_rejected_calls_total{payments,circuit-open} 1'],
		['rejected', { reason: 'circuit-open', shadow: true }, undefined],
		['timeout', { timeoutMs: 5 }, 'yaoki_timeouts_total{payments} 1'],
		['fallback', {}, 'yaoki_fallbacks_total{payments} 1'],
		['hedge', { outcome: 'won', hedge: 1 }, 'yaoki_hedges_total{payments,won} 1'],
		[
			'state_change',
			{ from: 'half-open', to: 'open' },
			'yaoki_circuit_breaker_transitions_total{payments,half-open,open} 1',
		],
		['state_change', { from: 'closed', to: 'open', shadow: true }, undefined],
		['limit_change', { from: 1, to: 2 }, undefined],
		['event_of_a_later_version', {}, undefined],
	])('%s %j', async (type, facts, expected) => {
		expect(lines(await collect({}, [type, facts]))).toEqual(expected === undefined ? [] : [expected])
	})

	test.each([
		[{ statusCode: 503, method: 'GET' }, '503,GET'],
		[{ method: 'POST' }, 'network,POST'],
		[{ statusCode: 0, method: 'GET' }, 'network,GET'],
		[{ statusCode: 12.5 }, 'network,unknown'],
	])('retry_attempt %j', async (facts, labels) => {
		const samples = await collect({ kind: 'http', name: 'host' }, ['retry_attempt', facts])
		expect(lines(samples)).toEqual([`http_client_retries_total{host,${labels}} 1`])
	})
})

describe('events of relays', () => {
	const delivery = { destination: 'billing', messageId: '1', topic: 'order', attempts: 1 }

	test.each<[string, object, string[]]>([
		[
			'relay_sent',
			{ ...delivery, durationMs: 10, lagMs: 2_000 },
			[
				'yaoki_relay_deliveries_total{payments,billing,sent} 1',
				'yaoki_relay_delivery_duration_seconds_count{payments,billing} 1',
				'yaoki_relay_delivery_lag_seconds_count{payments,billing} 1',
			],
		],
		[
			'relay_retry_scheduled',
			{ ...delivery, durationMs: 10, delayMs: 100 },
			[
				'yaoki_relay_deliveries_total{payments,billing,retry} 1',
				'yaoki_relay_delivery_duration_seconds_count{payments,billing} 1',
			],
		],
		[
			'relay_dead_letter',
			{ ...delivery, cause: 'permanent' },
			[
				'yaoki_relay_deliveries_total{payments,billing,dead} 1',
				'yaoki_relay_dead_letters_total{payments,billing,permanent} 1',
			],
		],
		[
			'relay_dead_letter',
			{ ...delivery, cause: 'expired' },
			['yaoki_relay_dead_letters_total{payments,billing,expired} 1'],
		],
		[
			'relay_state_change',
			{ destination: 'billing', from: 'closed', to: 'open', pausedForMs: 1 },
			['yaoki_relay_transitions_total{payments,billing,closed,open} 1'],
		],
		[
			'relay_released',
			{ ...delivery, reason: 'paused' },
			['yaoki_relay_released_messages_total{payments,paused} 1'],
		],
		['relay_lease_lost', delivery, ['yaoki_relay_leases_lost_total{payments} 1']],
		['relay_store_error', { operation: 'claim' }, ['yaoki_relay_store_errors_total{payments,claim} 1']],
		[
			'relay_handlers_hung',
			{ destination: 'billing', count: 4 },
			['yaoki_relay_hung_handlers_total{payments,billing} 1'],
		],
		['relay_started', {}, []],
	])('%s %j', async (type, facts, expected) => {
		expect(lines(await collect({ kind: 'relay' }, [type, facts]))).toEqual(expected)
	})
})

test('enqueued messages are counted by topic, duplicates in total', async () => {
	const facts = { count: 2, duplicates: 1, topics: { order: 2, mail: 1 } }
	expect(
		lines(await collect({ kind: 'outbox' }, ['outbox_enqueued', facts], ['outbox_replayed', { count: 3 }])),
	).toEqual([
		'yaoki_outbox_enqueued_messages_total{payments,order} 2',
		'yaoki_outbox_enqueued_messages_total{payments,mail} 1',
		'yaoki_outbox_duplicate_messages_total{payments} 1',
	])
})

test.each([
	['claimed', { isRerun: false }, 'requests_total{payments,claimed}'],
	['claimed', { isRerun: true }, 'requests_total{payments,rerun}'],
	['replayed', { statusCode: 200 }, 'requests_total{payments,replayed}'],
	['conflict', { reason: 'in-progress' }, 'requests_total{payments,conflict}'],
	['mismatch', {}, 'requests_total{payments,mismatch}'],
	['lease_lost', {}, 'leases_lost_total{payments}'],
	['fenced', { operation: 'complete' }, 'fenced_writes_total{payments,complete}'],
	['store_error', { operation: 'claim' }, 'store_errors_total{payments,claim}'],
])('idempotency_%s %j', async (type, facts, expected) => {
	expect(lines(await collect({ kind: 'idempotency' }, [`idempotency_${type}`, facts]))).toEqual([
		`yaoki_idempotency_${expected} 1`,
	])
})

test('10,000 services keep maxSeries series per metric, and the sums are right', async () => {
	const metrics = inMemoryMetrics({ maxSeries: 50 })
	const { onCallEnd, onEvent } = metrics.attach(sourceOf({ kind: 'http', serviceOf: ({ key = '' }) => key }))
	for (let index = 0; index < 10_000; index++) {
		const key = `host-${index}`
		onCallEnd?.(createCallEnd({ key, retries: 1, attempts: 2 }))
		onEvent?.(eventOf('retry_attempt', { key, method: 'GET' }))
	}
	const { samples } = parseExposition(await metrics.toPrometheus())
	const series = new Map<string, number>()
	for (const { name, labels } of samples)
		if (labels['le'] === undefined || labels['le'] === '+Inf') series.set(name, (series.get(name) ?? 0) + 1)
	// The series `other` of a success and of a failure.
	for (const [name, count] of series) expect(count, name).toBeLessThanOrEqual(52)
	const sum = (metric: string) =>
		samples.filter(({ name }) => name === metric).reduce((total, { value }) => total + value, 0)
	expect(sum('yaoki_calls_total')).toBe(10_000)
	expect(sum('yaoki_attempts_total')).toBe(20_000)
	expect(sum('http_client_retries_total')).toBe(10_000)
	expect(sum('yaoki_call_duration_seconds_count')).toBe(10_000)
	expect(metrics.snapshot().total).toMatchObject({
		calls: 10_000,
		retriedCalls: 10_000,
		retryRate: 1,
		retrySuccessRate: 1,
	})
	expect(Object.keys(metrics.snapshot().services).length).toBeLessThanOrEqual(51)
})
