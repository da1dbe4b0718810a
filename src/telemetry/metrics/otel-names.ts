/**
 * The catalog in OpenTelemetry: names, units and attributes. A name is chosen so that what the Collector's
 * exporter for Prometheus and the OTLP receiver of Prometheus make of it is the name in the catalog: dots
 * become `_`, the unit `s` adds `_seconds`, `1` adds `_ratio` to a gauge, `/s` adds `_per_second`, units in
 * braces add nothing, and a counter gets `_total`. So one set of queries serves both, with other labels.
 */

/** The name and the unit, in UCUM, by the name in the catalog. */
export const OTEL_NAMES: Readonly<Record<string, readonly [name: string, unit: string]>> = {
	http_client_retries_total: ['http.client.retries', '{retry}'],
	http_client_retry_duration_seconds: ['http.client.retry.duration', 's'],
	circuit_breaker_state: ['circuit_breaker.state', '{state}'],
	yaoki_calls_total: ['yaoki.calls', '{call}'],
	yaoki_call_duration_seconds: ['yaoki.call.duration', 's'],
	yaoki_attempts_total: ['yaoki.attempts', '{attempt}'],
	yaoki_retries_total: ['yaoki.retries', '{retry}'],
	yaoki_retried_calls_total: ['yaoki.retried_calls', '{call}'],
	yaoki_retries_stopped_total: ['yaoki.retries_stopped', '{call}'],
	yaoki_rejected_calls_total: ['yaoki.rejected_calls', '{call}'],
	yaoki_timeouts_total: ['yaoki.timeouts', '{timeout}'],
	yaoki_deadlines_exceeded_total: ['yaoki.deadlines_exceeded', '{call}'],
	yaoki_fallbacks_total: ['yaoki.fallbacks', '{fallback}'],
	yaoki_hedges_total: ['yaoki.hedges', '{hedge}'],
	yaoki_circuit_breaker_transitions_total: ['yaoki.circuit_breaker.transitions', '{transition}'],
	yaoki_circuit_breaker_isolated: ['yaoki.circuit_breaker.isolated', '{circuit}'],
	yaoki_circuit_breakers: ['yaoki.circuit_breakers', '{circuit}'],
	yaoki_bulkhead_concurrent_calls: ['yaoki.bulkhead.concurrent_calls', '{call}'],
	yaoki_bulkhead_queued_calls: ['yaoki.bulkhead.queued_calls', '{call}'],
	yaoki_bulkhead_max_concurrent_calls: ['yaoki.bulkhead.max_concurrent_calls', '{call}'],
	yaoki_retry_budget_available_retries: ['yaoki.retry_budget.available_retries', '{retry}'],
	yaoki_rate_limiter_available_tokens: ['yaoki.rate_limiter.available_tokens', '{token}'],
	yaoki_throttle_reject_ratio: ['yaoki.throttle.reject', '1'],
	yaoki_http_in_flight_requests: ['yaoki.http.in_flight_requests', '{request}'],
	yaoki_http_paused_seconds: ['yaoki.http.paused', 's'],
	yaoki_outbox_enqueued_messages_total: ['yaoki.outbox.enqueued_messages', '{message}'],
	yaoki_outbox_duplicate_messages_total: ['yaoki.outbox.duplicate_messages', '{message}'],
	yaoki_outbox_due_messages: ['yaoki.outbox.due_messages', '{message}'],
	yaoki_outbox_scheduled_messages: ['yaoki.outbox.scheduled_messages', '{message}'],
	yaoki_outbox_in_flight_messages: ['yaoki.outbox.in_flight_messages', '{message}'],
	yaoki_outbox_dead_letters: ['yaoki.outbox.dead_letters', '{message}'],
	yaoki_outbox_oldest_lag_seconds: ['yaoki.outbox.oldest_lag', 's'],
	yaoki_outbox_oldest_age_seconds: ['yaoki.outbox.oldest_age', 's'],
	yaoki_outbox_max_attempts: ['yaoki.outbox.max_attempts', '{attempt}'],
	yaoki_outbox_throughput_messages_per_second: ['yaoki.outbox.throughput_messages', '{message}/s'],
	yaoki_outbox_relays: ['yaoki.outbox.relays', '{relay}'],
	yaoki_outbox_ended_relays: ['yaoki.outbox.ended_relays', '{relay}'],
	yaoki_outbox_circuit_state: ['yaoki.outbox.circuit_state', '{state}'],
	yaoki_outbox_paused_destinations: ['yaoki.outbox.paused_destinations', '{destination}'],
	yaoki_outbox_pause_state: ['yaoki.outbox.pause_state', '{state}'],
	yaoki_relay_deliveries_total: ['yaoki.relay.deliveries', '{delivery}'],
	yaoki_relay_delivery_duration_seconds: ['yaoki.relay.delivery.duration', 's'],
	yaoki_relay_delivery_lag_seconds: ['yaoki.relay.delivery.lag', 's'],
	yaoki_relay_dead_letters_total: ['yaoki.relay.dead_letters', '{message}'],
	yaoki_relay_transitions_total: ['yaoki.relay.transitions', '{transition}'],
	yaoki_relay_released_messages_total: ['yaoki.relay.released_messages', '{message}'],
	yaoki_relay_leases_lost_total: ['yaoki.relay.leases_lost', '{lease}'],
	yaoki_relay_store_errors_total: ['yaoki.relay.store_errors', '{error}'],
	yaoki_relay_hung_handlers_total: ['yaoki.relay.hung_handlers', '{handler}'],
	yaoki_idempotency_requests_total: ['yaoki.idempotency.requests', '{request}'],
	yaoki_idempotency_leases_lost_total: ['yaoki.idempotency.leases_lost', '{lease}'],
	yaoki_idempotency_fenced_writes_total: ['yaoki.idempotency.fenced_writes', '{write}'],
	yaoki_idempotency_store_errors_total: ['yaoki.idempotency.store_errors', '{error}'],
	yaoki_idempotency_running_requests: ['yaoki.idempotency.running_requests', '{request}'],
	yaoki_telemetry_overflows_total: ['yaoki.telemetry.overflows', '{value}'],
	yaoki_telemetry_skipped_policies: ['yaoki.telemetry.skipped_policies', '{policy}'],
	yaoki_telemetry_failures_total: ['yaoki.telemetry.failures', '{failure}'],
}

const DESTINATION = 'messaging.destination.subscription.name'

/** The attribute of each label. Attributes have a namespace, because applications share them. */
export const OTEL_ATTRIBUTES: Readonly<Record<string, string>> = {
	service: 'yaoki.service',
	outcome: 'yaoki.outcome',
	result: 'yaoki.result',
	reason: 'yaoki.reason',
	cause: 'yaoki.cause',
	operation: 'yaoki.operation',
	from: 'yaoki.circuit.from',
	to: 'yaoki.circuit.to',
	state: 'yaoki.circuit.state',
	// `http.response.status_code` is a number, and this label is `network` without a response.
	status: 'yaoki.status',
	method: 'http.request.method',
	destination: DESTINATION,
	topic: 'messaging.destination.name',
	metric: 'yaoki.metric',
	exporter: 'yaoki.exporter',
}
