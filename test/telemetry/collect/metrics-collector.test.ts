import { describe, expect, test, vi } from 'vitest'
import { MetricsCollector } from '../../../src/telemetry/collect/metrics-collector.ts'
import { eventOf, sourceOf } from '../source.ts'

function setup() {
	const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
	const collector = new MetricsCollector('test', 10)
	const valuesOf = (name: string) =>
		[...collector.metrics.counter(name).series()].map(({ labels, value }) => [...labels, value])
	return { warn, collector, valuesOf }
}

describe('a collector', () => {
	test.each([
		['policy', 'timeout', {}, 'yaoki_timeouts_total', ['payments']],
		[
			'http',
			'retry_attempt',
			{ statusCode: 503, method: 'GET' },
			'http_client_retries_total',
			['payments', '503', 'GET'],
		],
		['relay', 'relay_lease_lost', {}, 'yaoki_relay_leases_lost_total', ['payments']],
		[
			'outbox',
			'outbox_enqueued',
			{ topics: { orders: 1 }, duplicates: 0 },
			'yaoki_outbox_enqueued_messages_total',
			['payments', 'orders'],
		],
		['idempotency', 'idempotency_lease_lost', {}, 'yaoki_idempotency_leases_lost_total', ['payments']],
	] as const)('counts the events of a source of kind %s, such as %s', (kind, type, facts, name, labels) => {
		const { collector, valuesOf } = setup()
		collector.attach(sourceOf({ kind })).onEvent?.(eventOf(type, facts))
		expect(valuesOf(name)).toEqual([[...labels, 1]])
	})

	test.each(['relay', 'outbox', 'idempotency'] as const)('counts no calls of a source of kind %s', (kind) => {
		const { collector } = setup()
		expect(collector.attach(sourceOf({ kind })).onCallEnd).toBeUndefined()
	})

	test('ignores events that no counter counts', () => {
		const { collector, valuesOf } = setup()
		collector.attach(sourceOf()).onEvent?.(eventOf('limit_change', { from: 1, to: 2 }))
		expect(valuesOf('yaoki_timeouts_total')).toEqual([])
	})

	test('reports a failure once for each key, and counts every failure', () => {
		const { collector, valuesOf, warn } = setup()
		for (const key of ['a', 'a', 'b']) collector.fail(key, `${key} failed`)
		expect(warn.mock.calls).toEqual([
			['yaoki: telemetry (test): a failed'],
			['yaoki: telemetry (test): b failed'],
		])
		expect(valuesOf('yaoki_telemetry_failures_total')).toEqual([['test', 3]])
	})

	test('leaves out the circuits of a source whose policies cannot be read, and keeps the others', () => {
		const { collector, warn } = setup()
		const breaker = { name: 'b', stats: { state: 'open' }, leaves: () => [breaker] }
		collector.attach(sourceOf({ members: () => [['', breaker as never]] }))
		collector.attach(
			sourceOf({
				name: 'bad',
				members() {
					throw new Error('no policies')
				},
			}),
		)
		expect(collector.circuitStates()).toEqual([['payments', 'open']])
		expect(warn.mock.calls).toEqual([
			[
				'yaoki: telemetry (test): bad: its circuits are left out because they cannot be read:',
				new Error('no policies'),
			],
		])
	})

	test('reads no gauges of a source after its detach', async () => {
		const { collector } = setup()
		const stats = vi.fn(() => ({ running: 1 }))
		const { detach } = collector.attach(sourceOf({ kind: 'idempotency', stats }))
		const before = await collector.readGauges()
		detach()
		const after = await collector.readGauges()
		const name = 'yaoki_idempotency_running_requests'
		expect([[...before.series(name)], [...after.series(name)]]).toEqual([
			[{ labels: ['payments'], value: 1 }],
			[],
		])
		expect(stats).toHaveBeenCalledTimes(1)
	})
})
