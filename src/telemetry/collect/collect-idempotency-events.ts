import type { EventBase } from '../../core/events/events.ts'
import type { IdempotencyEvent } from '../../idempotency/engine/events.ts'
import type { MetricSet } from '../metrics/metric-set.ts'
import type { ObservedSource } from '../observe/exporter.ts'
import { countEvents } from './count-events.ts'

const REQUESTS = 'yaoki_idempotency_requests_total'

/** Returns the function that receives the events of an idempotency engine. */
export function collectIdempotencyEvents(
	metrics: MetricSet,
	source: ObservedSource,
): (event: EventBase) => void {
	const count = countEvents(metrics, source)
	return (event) => {
		const known = event as IdempotencyEvent
		switch (known.type) {
			case 'idempotency_claimed':
				count(REQUESTS, event, known.isRerun ? 'rerun' : 'claimed')
				break
			case 'idempotency_replayed':
				count(REQUESTS, event, 'replayed')
				break
			case 'idempotency_conflict':
				count(REQUESTS, event, 'conflict')
				break
			case 'idempotency_mismatch':
				count(REQUESTS, event, 'mismatch')
				break
			case 'idempotency_lease_lost':
				count('yaoki_idempotency_leases_lost_total', event)
				break
			case 'idempotency_fenced':
				count('yaoki_idempotency_fenced_writes_total', event, known.operation)
				break
			case 'idempotency_store_error':
				count('yaoki_idempotency_store_errors_total', event, known.operation)
				break
		}
	}
}
