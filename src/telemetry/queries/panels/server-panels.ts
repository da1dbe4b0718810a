import { gauge, named, rate, type Scope } from '../promql.ts'
import { type PanelGroup, query } from './panel.ts'

export const idempotency = (scope: Scope): PanelGroup => ({
	title: 'Idempotency keys',
	panels: [
		{
			title: 'What happens to requests with a key?',
			description: 'Requests per second by result. Replayed requests got the stored response.',
			kind: 'lines',
			unit: 'per-second',
			queries: [
				query(
					rate({ metric: 'yaoki_idempotency_requests_total', by: ['result'] }, scope),
					'{{service}} {{result}}',
				),
			],
		},
		{
			title: 'How many requests conflict?',
			description: 'Per second: a key that is still running, or a key with another request.',
			kind: 'lines',
			unit: 'per-second',
			queries: [
				query(
					rate(
						{
							metric: 'yaoki_idempotency_requests_total',
							by: ['result'],
							where: { result: 'conflict|mismatch' },
						},
						scope,
					),
					'{{service}} {{result}}',
				),
			],
		},
		{
			title: 'Does the store of keys work?',
			description: 'Per second: failed operations, leases that ended too early, and writes rejected for it.',
			kind: 'lines',
			unit: 'per-second',
			queries: [
				query(
					named({
						'store error': rate({ metric: 'yaoki_idempotency_store_errors_total' }, scope),
						'lease lost': rate({ metric: 'yaoki_idempotency_leases_lost_total' }, scope),
						'write rejected': rate({ metric: 'yaoki_idempotency_fenced_writes_total' }, scope),
					}),
					'{{service}} {{kind}}',
				),
			],
		},
		{
			title: 'How many requests with a key are running?',
			description: 'Requests whose handler runs, over all processes.',
			kind: 'lines',
			unit: 'count',
			queries: [query(gauge({ metric: 'yaoki_idempotency_running_requests' }, scope))],
		},
	],
})

export const telemetry = (scope: Scope): PanelGroup => ({
	title: 'Telemetry itself',
	panels: [
		{
			title: 'Which metrics have too many series?',
			description:
				'Values per second that were added to the series "other". Raise maxSeries, or use fewer services.',
			kind: 'lines',
			unit: 'per-second',
			queries: [
				query(rate({ metric: 'yaoki_telemetry_overflows_total', by: ['metric'] }, scope), '{{metric}}'),
			],
		},
		{
			title: 'How many policies are left out of the gauges?',
			description:
				'A scrape reads 10,000 policies of a source, and further circuits only if they are not closed.',
			kind: 'lines',
			unit: 'count',
			queries: [query(gauge({ metric: 'yaoki_telemetry_skipped_policies' }, scope))],
		},
		{
			title: 'Which exporters fail?',
			description: 'Errors per second that telemetry caught. The first of each kind is a console warning.',
			kind: 'lines',
			unit: 'per-second',
			queries: [
				query(rate({ metric: 'yaoki_telemetry_failures_total', by: ['exporter'] }, scope), '{{exporter}}'),
			],
		},
	],
})
