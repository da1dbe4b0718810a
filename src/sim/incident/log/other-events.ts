/** Events that say nothing about calls, but are in the same file if an event log of `yaoki/telemetry/node` wrote it. */
import type { EventBase } from '../../../core/events/events.ts'
import { isAmount } from '../../../core/options/schema.ts'

/** Of outboxes, relays, idempotency engines and the event log itself. A test compares them with the types of these events. */
export const OTHER_TYPES: ReadonlySet<string> = new Set([
	...[
		'relay_sent',
		'relay_retry_scheduled',
		'relay_dead_letter',
		'relay_released',
		'relay_lease_lost',
		'relay_paused',
		'relay_resumed',
		'relay_state_change',
		'relay_handlers_hung',
	],
	...['relay_store_error', 'relay_store_recovered', 'relay_started', 'relay_stopping', 'relay_stopped'],
	...['outbox_enqueued', 'outbox_replayed', 'outbox_discarded', 'outbox_retried', 'outbox_expired'],
	...['idempotency_claimed', 'idempotency_replayed', 'idempotency_conflict', 'idempotency_mismatch'],
	...['idempotency_lease_lost', 'idempotency_fenced', 'idempotency_store_error', 'telemetry_events_dropped'],
	...['idempotency_stored_late', 'idempotency_response_lost'],
])

/** A line of an event log: it could not write this many events. */
export interface DroppedEvents extends EventBase {
	readonly type: 'telemetry_events_dropped'
	readonly count: number
}

/** Returns how many events were dropped; 0 for all other events. */
export function droppedCount(event: EventBase): number {
	const { type, count } = event as Partial<DroppedEvents>
	return type === 'telemetry_events_dropped' && isAmount(count) ? count : 0
}
