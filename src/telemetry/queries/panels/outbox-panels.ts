import { gauge, named, quantile, rate, type Scope } from '../promql.ts'
import { type PanelGroup, query } from './panel.ts'

const by = ['destination']
const DELIVERY = { metric: 'yaoki_relay_delivery_duration_seconds', by }

export const outbox = (scope: Scope): PanelGroup => ({
	title: 'Outbox',
	panels: [
		{
			title: 'How many messages wait?',
			description: 'Due, scheduled, in flight and dead, by destination. Each counts at most 10,000.',
			kind: 'lines',
			unit: 'count',
			queries: [
				query(gauge({ metric: 'yaoki_outbox_due_messages', by }, scope), '{{destination}} due'),
				query(gauge({ metric: 'yaoki_outbox_scheduled_messages', by }, scope), '{{destination}} scheduled'),
				query(gauge({ metric: 'yaoki_outbox_in_flight_messages', by }, scope), '{{destination}} in flight'),
				query(gauge({ metric: 'yaoki_outbox_dead_letters', by }, scope), '{{destination}} dead'),
			],
		},
		{
			title: 'How late are messages?',
			description:
				'Lag: how long the oldest due message has been due. Age: how long it has not been sent, retries included.',
			kind: 'lines',
			unit: 'seconds',
			queries: [
				query(gauge({ metric: 'yaoki_outbox_oldest_lag_seconds', by }, scope), '{{destination}} lag'),
				query(gauge({ metric: 'yaoki_outbox_oldest_age_seconds', by }, scope), '{{destination}} age'),
			],
		},
		{
			title: 'How fast do messages come and go?',
			description: 'Messages per second: enqueued by topic, sent by all relays.',
			kind: 'lines',
			unit: 'per-second',
			queries: [
				query(
					rate({ metric: 'yaoki_outbox_enqueued_messages_total', by: ['topic'] }, scope),
					'{{topic}} enqueued',
				),
				query(gauge({ metric: 'yaoki_outbox_throughput_messages_per_second' }, scope), '{{service}} sent'),
			],
		},
		{
			title: 'How do deliveries end?',
			description: 'Attempts per second by result.',
			kind: 'lines',
			unit: 'per-second',
			queries: [
				query(
					rate({ metric: 'yaoki_relay_deliveries_total', by: ['destination', 'result'] }, scope),
					'{{destination}} {{result}}',
				),
			],
		},
		{
			title: 'How many attempts do queued messages have?',
			description: 'The highest number. A growing line is a message that never succeeds.',
			kind: 'lines',
			unit: 'count',
			queries: [query(gauge({ metric: 'yaoki_outbox_max_attempts', by }, scope), '{{destination}}')],
		},
		{
			title: 'How many relays are alive?',
			description: 'In all processes. Ended relays did not stop: their process was killed or hangs.',
			kind: 'lines',
			unit: 'count',
			queries: [
				query(gauge({ metric: 'yaoki_outbox_relays' }, scope), '{{service}} alive'),
				query(gauge({ metric: 'yaoki_outbox_ended_relays' }, scope), '{{service}} ended'),
			],
		},
		{
			title: 'Which destinations have an open circuit?',
			description: 'The circuit that all relays share for a destination.',
			kind: 'states',
			unit: 'count',
			queries: [query(gauge({ metric: 'yaoki_outbox_circuit_state', by }, scope), '{{destination}}')],
		},
		{
			title: 'How many destinations are paused?',
			description: 'By an operator, or by a Retry-After: all of a service, and each of them.',
			kind: 'lines',
			unit: 'count',
			queries: [
				query(gauge({ metric: 'yaoki_outbox_paused_destinations' }, scope)),
				query(
					gauge({ metric: 'yaoki_outbox_pause_state', by: ['destination', 'reason'] }, scope),
					'{{destination}} {{reason}}',
				),
			],
		},
		{
			title: 'How long do deliveries take?',
			description: 'p50 and p99 of a handler, and p99 of the time between due and acked.',
			kind: 'lines',
			unit: 'seconds',
			queries: [
				query(quantile(0.5, DELIVERY, scope), '{{destination}} p50'),
				query(quantile(0.99, DELIVERY, scope), '{{destination}} p99'),
				query(
					quantile(0.99, { metric: 'yaoki_relay_delivery_lag_seconds', by }, scope),
					'{{destination}} due to acked p99',
				),
			],
		},
		{
			title: 'What disturbs the relays?',
			description:
				'Events per second. Each is harmless once; a steady rate is a problem of database, lease or handler.',
			kind: 'lines',
			unit: 'per-second',
			queries: [
				query(
					named({
						'lease lost': rate({ metric: 'yaoki_relay_leases_lost_total' }, scope),
						'store error': rate({ metric: 'yaoki_relay_store_errors_total' }, scope),
						'hung handlers': rate({ metric: 'yaoki_relay_hung_handlers_total' }, scope),
						'released unsent': rate({ metric: 'yaoki_relay_released_messages_total' }, scope),
						duplicate: rate({ metric: 'yaoki_outbox_duplicate_messages_total' }, scope),
					}),
					'{{service}} {{kind}}',
				),
			],
		},
	],
})
