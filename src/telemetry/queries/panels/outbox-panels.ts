import { gauge, medianAndP99, named, quantile, rate, type Scope } from '../promql.ts'
import { lines, type PanelGroup, states } from './panel.ts'

const by = ['destination']
const DELIVERY = { metric: 'yaoki_relay_delivery_duration_seconds', by }

export const outbox = (scope: Scope): PanelGroup => ({
	title: 'Outbox',
	panels: [
		lines(
			'How many messages wait?',
			'Due, scheduled, in flight and dead, by destination. Each counts at most 10,000.',
			'count',
			{
				'{{destination}} due': gauge({ metric: 'yaoki_outbox_due_messages', by }, scope),
				'{{destination}} scheduled': gauge({ metric: 'yaoki_outbox_scheduled_messages', by }, scope),
				'{{destination}} in flight': gauge({ metric: 'yaoki_outbox_in_flight_messages', by }, scope),
				'{{destination}} dead': gauge({ metric: 'yaoki_outbox_dead_letters', by }, scope),
			},
		),
		lines(
			'How late are messages?',
			'Lag: how long the oldest due message has been due. Age: how long it has not been sent, retries included.',
			'seconds',
			{
				'{{destination}} lag': gauge({ metric: 'yaoki_outbox_oldest_lag_seconds', by }, scope),
				'{{destination}} age': gauge({ metric: 'yaoki_outbox_oldest_age_seconds', by }, scope),
			},
		),
		lines(
			'How fast do messages come and go?',
			'Messages per second: enqueued by topic, sent by all relays.',
			'per-second',
			{
				'{{topic}} enqueued': rate({ metric: 'yaoki_outbox_enqueued_messages_total', by: ['topic'] }, scope),
				'{{service}} sent': gauge({ metric: 'yaoki_outbox_throughput_messages_per_second' }, scope),
			},
		),
		lines('How do deliveries end?', 'Attempts per second by result.', 'per-second', {
			'{{destination}} {{result}}': rate(
				{ metric: 'yaoki_relay_deliveries_total', by: ['destination', 'result'] },
				scope,
			),
		}),
		lines(
			'How many attempts do queued messages have?',
			'The highest number. A growing line is a message that never succeeds.',
			'count',
			{ '{{destination}}': gauge({ metric: 'yaoki_outbox_max_attempts', by }, scope) },
		),
		lines(
			'How many relays are alive?',
			'In all processes. Ended relays did not stop: their process was killed or hangs.',
			'count',
			{
				'{{service}} alive': gauge({ metric: 'yaoki_outbox_relays' }, scope),
				'{{service}} ended': gauge({ metric: 'yaoki_outbox_ended_relays' }, scope),
			},
		),
		states(
			'Which destinations have an open circuit?',
			'The circuit that all relays share for a destination.',
			'count',
			{ '{{destination}}': gauge({ metric: 'yaoki_outbox_circuit_state', by }, scope) },
		),
		lines(
			'How many destinations are paused?',
			'By an operator, or by a Retry-After: all of a service, and each of them.',
			'count',
			{
				'{{service}}': gauge({ metric: 'yaoki_outbox_paused_destinations' }, scope),
				'{{destination}} {{reason}}': gauge(
					{ metric: 'yaoki_outbox_pause_state', by: ['destination', 'reason'] },
					scope,
				),
			},
		),
		lines(
			'How long do deliveries take?',
			'p50 and p99 of a handler, and p99 of the time between due and acked.',
			'seconds',
			{
				...medianAndP99(DELIVERY, scope, '{{destination}}'),
				'{{destination}} due to acked p99': quantile(
					0.99,
					{ metric: 'yaoki_relay_delivery_lag_seconds', by },
					scope,
				),
			},
		),
		lines(
			'What disturbs the relays?',
			'Events per second. Each is harmless once; a steady rate is a problem of database, lease or handler.',
			'per-second',
			{
				'{{service}} {{kind}}': named({
					'lease lost': rate({ metric: 'yaoki_relay_leases_lost_total' }, scope),
					'store error': rate({ metric: 'yaoki_relay_store_errors_total' }, scope),
					'hung handlers': rate({ metric: 'yaoki_relay_hung_handlers_total' }, scope),
					'released unsent': rate({ metric: 'yaoki_relay_released_messages_total' }, scope),
					duplicate: rate({ metric: 'yaoki_outbox_duplicate_messages_total' }, scope),
				}),
			},
		),
	],
})
