/** Counts events. An event adds 1 to at most one counter, except for the messages of an outbox. */
import type { EventBase, YaokiEvent } from '../../core/events/events.ts'
import type { IdempotencyEvent } from '../../idempotency/engine/events.ts'
import type { OutboxEvent } from '../../outbox/events/outbox-events.ts'
import type { RelayEvent } from '../../outbox/events/relay-events.ts'
import type { InboxEvent } from '../../outbox/inbox/events.ts'
import type { WebhookEvent } from '../../outbox/webhooks/events.ts'
import { destinationLabel } from '../metrics/destination-label.ts'
import type { MetricSet } from '../metrics/metric-set.ts'
import type { ObservedSource } from '../observe/exporter.ts'

/** The counter that an event adds to, and its labels after the service. */
type Counted = readonly [name: string, ...labels: readonly string[]] | undefined

type Rules<Event extends EventBase> = {
	readonly [Type in Event['type']]?: (
		event: Event & { readonly type: Type },
		source: ObservedSource,
	) => Counted
}

export const POLICY_EVENTS: Rules<YaokiEvent> = {
	retry_attempt: ({ statusCode, method = 'unknown' }, { kind }) =>
		kind === 'http' ? ['http_client_retries_total', toStatus(statusCode), method] : undefined,
	retry_failure: ({ stop }) => ['yaoki_retries_stopped_total', stop],
	// A policy in shadow mode let the call through.
	rejected: ({ shadow, reason }) => (shadow ? undefined : ['yaoki_rejected_calls_total', reason]),
	timeout: () => ['yaoki_timeouts_total'],
	fallback: () => ['yaoki_fallbacks_total'],
	hedge: ({ outcome }) => ['yaoki_hedges_total', outcome],
	// A circuit in shadow mode must raise no alert.
	state_change: ({ shadow, from, to }) =>
		shadow ? undefined : ['yaoki_circuit_breaker_transitions_total', from, to],
}

const REQUESTS = 'yaoki_idempotency_requests_total'

export const IDEMPOTENCY_EVENTS: Rules<IdempotencyEvent> = {
	idempotency_claimed: ({ isRerun }) => [REQUESTS, isRerun ? 'rerun' : 'claimed'],
	idempotency_replayed: () => [REQUESTS, 'replayed'],
	idempotency_conflict: () => [REQUESTS, 'conflict'],
	idempotency_mismatch: () => [REQUESTS, 'mismatch'],
	idempotency_lease_lost: () => ['yaoki_idempotency_leases_lost_total'],
	idempotency_fenced: ({ operation }) => ['yaoki_idempotency_fenced_writes_total', operation],
	idempotency_store_error: ({ operation }) => ['yaoki_idempotency_store_errors_total', operation],
}

/** The events of a relay that are not about one delivery. */
export const RELAY_EVENTS: Rules<RelayEvent> = {
	relay_state_change: ({ destination, from, to }) => [
		'yaoki_relay_transitions_total',
		destinationLabel(destination),
		from,
		to,
	],
	relay_released: ({ reason }) => ['yaoki_relay_released_messages_total', reason],
	relay_lease_lost: () => ['yaoki_relay_leases_lost_total'],
	relay_store_error: ({ operation }) => ['yaoki_relay_store_errors_total', operation],
	relay_handlers_hung: ({ destination }) => [
		'yaoki_relay_hung_handlers_total',
		destinationLabel(destination),
	],
}

/** The other events of webhooks are about one endpoint for a while, which gauges show. */
export const WEBHOOK_EVENTS: Rules<WebhookEvent> = {
	webhook_endpoint_disabled: ({ reason }) => ['yaoki_webhook_endpoints_disabled_total', reason],
}

/** Returns the function that counts the events of a source. */
export function countEvents<Event extends EventBase>(
	rules: Rules<Event>,
	metrics: MetricSet,
	source: ObservedSource,
): (event: EventBase) => void {
	const byType = new Map<string, ((event: never, source: ObservedSource) => Counted) | undefined>(
		Object.entries(rules),
	)
	return (event) => {
		const [name, ...labels] = byType.get(event.type)?.(event as never, source) ?? []
		if (name !== undefined)
			metrics
				.counter(name)
				.get(serviceOfSeries(source, event), ...labels)
				.add(1)
	}
}

/** Returns the service of a series, which is that of all endpoints of webhooks if the event is about one. */
export function serviceOfSeries(source: ObservedSource, event: EventBase): string {
	const { destination } = event as EventBase & { readonly destination?: string }
	if (destination === undefined) return source.serviceOf(event)
	const label = destinationLabel(destination)
	return source.serviceOf(label === destination ? event : { ...event, destination: label })
}

/** Returns the function that counts the messages of an outbox. */
export function countMessages(metrics: MetricSet, source: ObservedSource): (event: EventBase) => void {
	return (event) => {
		const known = event as OutboxEvent
		if (known.type !== 'outbox_enqueued') return
		const service = source.serviceOf(event)
		const enqueued = metrics.counter('yaoki_outbox_enqueued_messages_total')
		for (const topic of Object.keys(known.topics)) enqueued.get(service, topic).add(known.topics[topic] ?? 0)
		if (known.duplicates > 0)
			metrics.counter('yaoki_outbox_duplicate_messages_total').get(service).add(known.duplicates)
	}
}

const INBOX_RESULTS: Readonly<Record<InboxEvent['type'], string>> = {
	inbox_processed: 'processed',
	inbox_duplicate: 'duplicate',
	inbox_conflict: 'conflict',
	inbox_failed: 'failed',
}

/** Returns the function that counts the messages of an inbox. */
export function collectInboxEvents(metrics: MetricSet, source: ObservedSource): (event: EventBase) => void {
	return (event) => {
		const known = event as InboxEvent
		// An event of a later version has no result.
		if (!Object.hasOwn(INBOX_RESULTS, known.type)) return
		const service = source.serviceOf(event)
		metrics.counter('yaoki_inbox_messages_total').get(service, INBOX_RESULTS[known.type]).add(1)
		if (known.type === 'inbox_processed' || known.type === 'inbox_failed')
			metrics
				.histogram('yaoki_inbox_processing_duration_seconds')
				.get(service)
				.record(known.durationMs / 1_000)
	}
}

/** Errors of user code may have any number as their status. */
const toStatus = (status: number | undefined): string =>
	status !== undefined && Number.isInteger(status) && status >= 100 && status <= 999 ? `${status}` : 'network'
