import { gauge, medianAndP99, named, rate, type Scope } from '../promql.ts'
import { lines, type PanelGroup } from './panel.ts'

const PROCESSING = { metric: 'yaoki_inbox_processing_duration_seconds' }

export const inbox = (scope: Scope): PanelGroup => ({
	title: 'Inbox',
	panels: [
		lines(
			'What happens to received messages?',
			'Messages per second by result. Duplicates and conflicts are normal after lost responses; failed messages are sent again.',
			'per-second',
			{ '{{service}} {{result}}': rate({ metric: 'yaoki_inbox_messages_total', by: ['result'] }, scope) },
		),
		lines(
			'How long does a received message take?',
			'p50 and p99 of the mark and the function, without the commit.',
			'seconds',
			medianAndP99(PROCESSING, scope),
		),
		lines(
			'How many messages does an inbox remember?',
			'Each counts at most 10,000. Expired messages are deleted about once an hour.',
			'count',
			{
				'{{service}} remembered': gauge({ metric: 'yaoki_inbox_remembered_messages' }, scope),
				'{{service}} expired': gauge({ metric: 'yaoki_inbox_expired_messages' }, scope),
			},
		),
		lines(
			'How long does an inbox remember messages?',
			'Age of the oldest one: at most the retention and an hour, while expired messages are deleted.',
			'seconds',
			gauge({ metric: 'yaoki_inbox_oldest_message_age_seconds' }, scope),
		),
	],
})

export const idempotency = (scope: Scope): PanelGroup => ({
	title: 'Idempotency keys',
	panels: [
		lines(
			'What happens to requests with a key?',
			'Requests per second by result. Replayed requests got the stored response.',
			'per-second',
			{
				'{{service}} {{result}}': rate({ metric: 'yaoki_idempotency_requests_total', by: ['result'] }, scope),
			},
		),
		lines(
			'How many requests conflict?',
			'Per second: a key that is still running, or a key with another request.',
			'per-second',
			{
				'{{service}} {{result}}': rate(
					{
						metric: 'yaoki_idempotency_requests_total',
						by: ['result'],
						where: { result: 'conflict|mismatch' },
					},
					scope,
				),
			},
		),
		lines(
			'Does the store of keys work?',
			'Per second: failed operations, leases that ended too early, and writes rejected for it.',
			'per-second',
			{
				'{{service}} {{kind}}': named({
					'store error': rate({ metric: 'yaoki_idempotency_store_errors_total' }, scope),
					'lease lost': rate({ metric: 'yaoki_idempotency_leases_lost_total' }, scope),
					'write rejected': rate({ metric: 'yaoki_idempotency_fenced_writes_total' }, scope),
				}),
			},
		),
		lines(
			'How many requests with a key are running?',
			'Requests whose handler runs, over all processes.',
			'count',
			gauge({ metric: 'yaoki_idempotency_running_requests' }, scope),
		),
	],
})

export const telemetry = (scope: Scope): PanelGroup => ({
	title: 'Telemetry itself',
	panels: [
		lines(
			'Which metrics have too many series?',
			'Values per second that were added to the series "other". Raise maxSeries, or use fewer services.',
			'per-second',
			{ '{{metric}}': rate({ metric: 'yaoki_telemetry_overflows_total', by: ['metric'] }, scope) },
		),
		lines(
			'How many policies are left out of the gauges?',
			'A scrape reads 10,000 policies of a source, and further circuits only if they are not closed.',
			'count',
			gauge({ metric: 'yaoki_telemetry_skipped_policies' }, scope),
		),
		lines(
			'Which exporters fail?',
			'Errors per second that telemetry caught. The first of each kind is a console warning.',
			'per-second',
			{ '{{exporter}}': rate({ metric: 'yaoki_telemetry_failures_total', by: ['exporter'] }, scope) },
		),
	],
})
