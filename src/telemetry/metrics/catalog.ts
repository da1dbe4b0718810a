/**
 * Every metric, in one table: exporters create series from it, the tables of the guide, the Grafana dashboard
 * and the alert rules are generated from it. Units are seconds and counts. Labels have few values: never a
 * URL, an id or a message.
 */

export type MetricType = 'counter' | 'gauge' | 'histogram'

/**
 * How a gauge combines the values of several policies, or of several processes. `worst` is for
 * the states 0 closed, 1 open and 2 half-open: open is worse than half-open, and half-open worse than closed.
 */
export type GaugeCombination = 'sum' | 'max' | 'min' | 'worst'

export interface MetricDefinition {
	readonly type: MetricType
	readonly labels: readonly string[]
	/** One sentence, for HELP lines and the guide. */
	readonly help: string
	/** Upper bounds in seconds; histograms only. */
	readonly buckets?: readonly number[]
	/** Gauges only. */
	readonly combination?: GaugeCombination
}

/** Upper bounds in seconds. A retry takes as long as its backoff. */
const RETRY_BUCKETS = [0.1, 0.5, 1, 2, 5, 10, 30] as const
const CALL_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30] as const
const LAG_BUCKETS = [0.1, 0.5, 1, 5, 15, 60, 300, 900, 3_600, 21_600, 86_400] as const

/** Labels of most metrics. */
const SERVICE = ['service']
const DESTINATION = ['service', 'destination']

type Create = (labels: readonly string[], help: string) => MetricDefinition

const counter: Create = (labels, help) => ({ type: 'counter', labels, help })
const gaugeWith =
	(combination: GaugeCombination): Create =>
	(labels, help) => ({ type: 'gauge', labels, help, combination })
const gauge = gaugeWith('sum')
const max = gaugeWith('max')
const min = gaugeWith('min')
const worst = gaugeWith('worst')
const histogram = (
	labels: readonly string[],
	buckets: readonly number[],
	help: string,
): MetricDefinition => ({ type: 'histogram', labels, help, buckets })

export const METRICS: Readonly<Record<string, MetricDefinition>> = {
	// HTTP clients and circuits, under the names that dashboards of other clients use.
	http_client_retries_total: counter(
		['service', 'status', 'method'],
		'Retries of HTTP requests, by the status that caused them; "network" without a response.',
	),
	http_client_retry_duration_seconds: histogram(
		['service', 'result'],
		RETRY_BUCKETS,
		'Duration of HTTP requests that were retried, from the first attempt to the result: success, which includes a fallback, or failure.',
	),
	circuit_breaker_state: worst(
		SERVICE,
		'State of the circuit: 0 closed, 1 open or isolated, 2 half-open. With several circuits, the worst of them. Circuits in shadow mode are left out.',
	),

	// Calls of policies, pipelines and HTTP clients.
	yaoki_calls_total: counter(
		['service', 'outcome'],
		'Calls that ended, by outcome: success, fallback, failure or rejected.',
	),
	yaoki_call_duration_seconds: histogram(
		SERVICE,
		CALL_BUCKETS,
		'Duration of calls, waits and retries included.',
	),
	yaoki_attempts_total: counter(SERVICE, 'Attempts, including retries and hedges.'),
	yaoki_retries_total: counter(SERVICE, 'Retries of calls that ended.'),
	yaoki_retried_calls_total: counter(
		['service', 'result'],
		'Calls with at least one retry, by result: success, or failure, which includes the use of a fallback.',
	),
	yaoki_retries_stopped_total: counter(
		['service', 'reason'],
		'Calls that failed in a retry policy, by the reason why they were not retried again.',
	),
	yaoki_rejected_calls_total: counter(
		['service', 'reason'],
		'Calls that a policy rejected: circuit-open, bulkhead-full, rate-limited, ...',
	),
	yaoki_timeouts_total: counter(SERVICE, 'Operations that exceeded their timeout.'),
	yaoki_deadlines_exceeded_total: counter(SERVICE, 'Calls that failed because their deadline expired.'),
	yaoki_fallbacks_total: counter(SERVICE, 'Calls whose result a fallback replaced.'),
	yaoki_hedges_total: counter(['service', 'outcome'], 'Hedges, by outcome: sent, won or no-budget.'),
	yaoki_circuit_breaker_transitions_total: counter(
		['service', 'from', 'to'],
		'Changes of the state of a circuit, except for circuits in shadow mode.',
	),
	yaoki_circuit_breaker_isolated: gauge(SERVICE, 'Circuits that an operator has isolated.'),
	yaoki_circuit_breakers: gauge(['service', 'state'], 'Circuits by state, including those in shadow mode.'),
	yaoki_bulkhead_concurrent_calls: gauge(SERVICE, 'Calls that hold a slot of a bulkhead.'),
	yaoki_bulkhead_queued_calls: gauge(SERVICE, 'Calls in the queue of a bulkhead.'),
	yaoki_bulkhead_max_concurrent_calls: gauge(SERVICE, 'Slots of a bulkhead.'),
	yaoki_retry_budget_available_retries: min(
		SERVICE,
		'Retries that the budget would allow now. With several budgets, the lowest number.',
	),
	yaoki_rate_limiter_available_tokens: min(
		SERVICE,
		'Calls that a rate limiter would admit now. With several, the lowest number.',
	),
	yaoki_throttle_reject_ratio: max(
		SERVICE,
		'Share of calls that an adaptive throttle rejects, from 0 to 1. With several, the highest.',
	),
	yaoki_http_in_flight_requests: gauge(
		SERVICE,
		'HTTP requests in flight, until the headers of their response arrive.',
	),
	yaoki_http_paused_seconds: max(
		SERVICE,
		'Remaining time of a pause that the server asked for, by Retry-After or RateLimit headers.',
	),

	// Outbox and relays.
	yaoki_outbox_enqueued_messages_total: counter(
		['service', 'topic'],
		'Messages passed to `enqueue`, including duplicates and those that were rolled back later.',
	),
	yaoki_outbox_duplicate_messages_total: counter(
		SERVICE,
		'Messages that were not written because a message with their dedupe key exists.',
	),
	yaoki_outbox_due_messages: max(DESTINATION, 'Messages that could be sent now. At most 10,000 are counted.'),
	yaoki_outbox_scheduled_messages: max(
		DESTINATION,
		'Messages that become due later, retries included. At most 10,000 are counted.',
	),
	yaoki_outbox_in_flight_messages: max(DESTINATION, 'Messages that a relay has claimed.'),
	yaoki_outbox_dead_letters: max(DESTINATION, 'Dead letters. At most 10,000 are counted.'),
	yaoki_outbox_oldest_lag_seconds: max(
		DESTINATION,
		'How long the oldest due message has been due. Of webhooks only endpoints count that are neither disabled nor paused, and whose circuit is closed.',
	),
	yaoki_outbox_oldest_age_seconds: max(DESTINATION, 'Age of the oldest message that has not been sent.'),
	yaoki_outbox_max_attempts: max(DESTINATION, 'The highest number of attempts of a queued message.'),
	yaoki_outbox_throughput_messages_per_second: max(
		SERVICE,
		'Messages sent per second, over all relays that are alive.',
	),
	yaoki_outbox_relays: max(SERVICE, 'Relays that are alive, in all processes.'),
	yaoki_outbox_ended_relays: max(SERVICE, 'Relays that ended without a stop, such as killed ones.'),
	yaoki_outbox_circuit_state: worst(
		DESTINATION,
		'State of the circuit of a destination: 0 closed, 1 open, 2 half-open. Endpoints of webhooks are left out.',
	),
	yaoki_outbox_paused_destinations: max(
		SERVICE,
		'Destinations that an operator or a Retry-After has paused.',
	),
	yaoki_outbox_pause_state: max(
		['service', 'destination', 'reason'],
		'Pause of a destination: 1 paused, 0 not, by reason: operator or retry-after. Destinations without failures or pauses are left out, and endpoints of webhooks.',
	),
	yaoki_relay_deliveries_total: counter(
		['service', 'destination', 'result'],
		'Attempts to deliver a message, by result: sent, retry or dead. Dead letters without an attempt are not counted.',
	),
	yaoki_relay_delivery_duration_seconds: histogram(
		DESTINATION,
		CALL_BUCKETS,
		'Duration of deliveries that a handler ended.',
	),
	yaoki_relay_delivery_lag_seconds: histogram(
		DESTINATION,
		LAG_BUCKETS,
		'Time from due to acked of messages that were sent.',
	),
	yaoki_relay_dead_letters_total: counter(
		['service', 'destination', 'cause'],
		'Messages that became dead letters.',
	),
	yaoki_relay_transitions_total: counter(
		['service', 'destination', 'from', 'to'],
		'Changes of the state of the circuit of a destination.',
	),
	yaoki_relay_released_messages_total: counter(
		['service', 'reason'],
		'Claimed messages that were returned to the queue unsent.',
	),
	yaoki_relay_leases_lost_total: counter(SERVICE, 'Messages whose lease ended while a handler was running.'),
	yaoki_relay_store_errors_total: counter(
		['service', 'operation'],
		'Database operations that failed and were retried.',
	),
	yaoki_relay_hung_handlers_total: counter(
		DESTINATION,
		'How often handlers that exceeded their timeout occupied all slots of a destination.',
	),

	// Inboxes.
	yaoki_inbox_messages_total: counter(
		['service', 'result'],
		'Messages passed to `once`, by result: processed, duplicate, conflict or failed.',
	),
	yaoki_inbox_processing_duration_seconds: histogram(
		SERVICE,
		CALL_BUCKETS,
		'Duration of `once` for messages that were processed or failed.',
	),
	yaoki_inbox_remembered_messages: max(
		SERVICE,
		'Messages that an inbox remembers. At most 10,000 are counted.',
	),
	yaoki_inbox_expired_messages: max(
		SERVICE,
		'Messages whose retention is over, and that an inbox has not forgotten yet. At most 10,000 are counted.',
	),
	yaoki_inbox_oldest_message_age_seconds: max(
		SERVICE,
		'Age of the oldest message that an inbox remembers, since it was processed.',
	),

	// Webhooks.
	yaoki_webhook_enabled_endpoints: max(SERVICE, 'Enabled endpoints of webhooks, including failing ones.'),
	yaoki_webhook_failing_endpoints: max(
		SERVICE,
		'Enabled endpoints that have failed since their last successful attempt.',
	),
	yaoki_webhook_disabled_endpoints: max(
		['service', 'reason'],
		'Disabled endpoints, by reason: operator, failing or gone.',
	),
	yaoki_webhook_longest_failure_seconds: max(
		SERVICE,
		'How long the enabled endpoint that has failed for longest has failed.',
	),
	yaoki_webhook_endpoints_disabled_total: counter(
		['service', 'reason'],
		'How often endpoints were disabled, by reason: operator, failing or gone.',
	),

	// Idempotency keys.
	yaoki_idempotency_requests_total: counter(
		['service', 'result'],
		'Requests with an idempotency key: claimed, rerun, replayed, conflict or mismatch.',
	),
	yaoki_idempotency_leases_lost_total: counter(SERVICE, 'Requests that ran longer than their lease.'),
	yaoki_idempotency_fenced_writes_total: counter(
		['service', 'operation'],
		'Writes that were rejected because another request has claimed the key.',
	),
	yaoki_idempotency_store_errors_total: counter(
		['service', 'operation'],
		'Operations of the store that failed.',
	),
	yaoki_idempotency_running_requests: gauge(SERVICE, 'Requests of this process whose handler runs.'),

	// Telemetry itself.
	yaoki_telemetry_overflows_total: counter(
		['metric'],
		'Values that were added to the series "other", because a metric has `maxSeries` series.',
	),
	yaoki_telemetry_skipped_policies: gauge(
		SERVICE,
		'Policies whose gauges are left out, because one source has more than 10,000. Circuits that are not closed are never left out.',
	),
	yaoki_telemetry_failures_total: counter(
		['exporter'],
		'Errors of exporters, loggers and stats that telemetry caught.',
	),
}

/** The value of unbounded labels in the series that receive what exceeds `maxSeries`. */
export const OTHER = 'other'

/** Labels whose number of values depends on the application. Other labels have few values. */
const UNBOUNDED: ReadonlySet<string> = /* @__PURE__ */ new Set(['service', 'destination', 'topic'])

/** Returns the unbounded labels. Every metric has them before its other labels. */
export const unboundedLabels = (labels: readonly string[]): readonly string[] =>
	labels.filter((label) => UNBOUNDED.has(label))

/** Returns the label values of the series for what exceeds `maxSeries`. */
export const overflowLabels = (labels: readonly string[], values: readonly string[]): readonly string[] =>
	labels.map((label, index) => (UNBOUNDED.has(label) ? OTHER : (values[index] ?? OTHER)))
