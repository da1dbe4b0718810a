/** Reads gauges from what `stats()` of a client, outbox, inbox, webhooks or an idempotency engine returns. */
import type { RequestStats } from '../../http/client/http-engine.ts'
import type { IdempotencyStats } from '../../idempotency/engine/engine.ts'
import type { DestinationStats, OutboxStats } from '../../outbox/diagnostics/stats.ts'
import type { InboxStats } from '../../outbox/inbox/inbox-stats.ts'
import type { WebhookStats } from '../../outbox/webhooks/webhook-stats.ts'
import { ENDPOINT_PATTERN, isEndpoint } from '../../webhooks/endpoint-names.ts'
import type { ObservedSource } from '../observe/exporter.ts'
import type { GaugeReading } from './gauge-values.ts'
import { toStateValue } from './policy-gauges.ts'

/** Returns the gauges of a source. `stats` is what its `stats()` returned. */
export function statsGauges(source: ObservedSource, stats: unknown): Iterable<GaugeReading> {
	switch (source.kind) {
		case 'http':
			return httpGauges(source, stats as RequestStats)
		case 'outbox':
			return outboxGauges(source, stats as OutboxStats)
		case 'inbox':
			return inboxGauges(source, stats as InboxStats)
		case 'webhooks':
			return webhookGauges(source, stats as WebhookStats)
		case 'idempotency':
			return idempotencyGauges(source, stats as IdempotencyStats)
		default:
			return []
	}
}

function* httpGauges(source: ObservedSource, { origins }: RequestStats): Generator<GaugeReading> {
	const counted = new Set<string>()
	for (const [key, { inFlight, pausedForMs }] of Object.entries(origins)) {
		const service = source.serviceOf({ type: 'call', emitter: source.name, key })
		yield ['yaoki_http_paused_seconds', [service], toSeconds(pausedForMs)]
		// With a `circuitBreakerKey`, an origin has several entries, `origin key`, with the same requests.
		const [origin = key] = key.split(' ', 1)
		if (counted.has(origin)) continue
		counted.add(origin)
		yield ['yaoki_http_in_flight_requests', [service], inFlight]
	}
}

/** An open circuit pauses its destination too, and has a gauge of its own. */
const PAUSE_REASONS = ['operator', 'retry-after'] as const

function* outboxGauges(source: ObservedSource, stats: OutboxStats): Generator<GaugeReading> {
	const { destinations, circuits, throughput, relays, endedRelays } = stats
	const serviceOf = (destination?: string) =>
		source.serviceOf({ type: 'stats', emitter: source.name, destination })
	const service = serviceOf()
	yield ['yaoki_outbox_throughput_messages_per_second', [service], throughput]
	yield ['yaoki_outbox_relays', [service], relays.length]
	yield ['yaoki_outbox_ended_relays', [service], endedRelays.length]
	let pausedDestinations = 0
	for (const { destination, state, reason, pausedForMs } of circuits) {
		const isOwnSeries = !isEndpoint(String(destination))
		const labels = isOwnSeries ? [serviceOf(destination), destination] : []
		if (isOwnSeries) yield ['yaoki_outbox_circuit_state', labels, toStateValue(state)]
		for (const one of PAUSE_REASONS) {
			const isPaused = pausedForMs > 0 && reason === one ? 1 : 0
			pausedDestinations += isPaused
			if (isOwnSeries) yield ['yaoki_outbox_pause_state', [...labels, one], isPaused]
		}
	}
	yield ['yaoki_outbox_paused_destinations', [service], pausedDestinations]
	for (const counts of withSumOfEndpoints(destinations, circuits)) {
		const labels = [serviceOf(counts.destination), counts.destination]
		yield ['yaoki_outbox_due_messages', labels, counts.due.count]
		yield ['yaoki_outbox_scheduled_messages', labels, counts.scheduled.count]
		yield ['yaoki_outbox_in_flight_messages', labels, counts.inFlight.count]
		yield ['yaoki_outbox_dead_letters', labels, counts.dead.count]
		yield ['yaoki_outbox_oldest_lag_seconds', labels, toSeconds(counts.oldestLagMs ?? 0)]
		yield ['yaoki_outbox_oldest_age_seconds', labels, toSeconds(counts.oldestAgeMs ?? 0)]
		yield ['yaoki_outbox_max_attempts', labels, counts.maxAttempts]
	}
}

type GaugeCounts = Pick<
	DestinationStats,
	'destination' | 'due' | 'scheduled' | 'inFlight' | 'dead' | 'oldestLagMs' | 'oldestAgeMs' | 'maxAttempts'
>

/** Of thousands of endpoints some are always down, so the lag is that of endpoints that relays send to. */
function withSumOfEndpoints(
	destinations: OutboxStats['destinations'],
	circuits: OutboxStats['circuits'],
): readonly GaugeCounts[] {
	// A store of the user may return anything.
	const isOne = ({ destination }: GaugeCounts): boolean => isEndpoint(String(destination))
	const endpoints = destinations.filter(isOne)
	if (endpoints.length === 0) return destinations
	const blocked = new Set(
		circuits
			.filter(({ state, pausedForMs }) => state !== 'closed' || pausedForMs > 0)
			.map(({ destination }) => destination),
	)
	const served = endpoints.filter(({ destination }) => !blocked.has(destination))
	const sum = (name: 'due' | 'scheduled' | 'inFlight' | 'dead') => ({
		count: endpoints.reduce((total, one) => total + one[name].count, 0),
		isCapped: endpoints.some((one) => one[name].isCapped),
	})
	const all: GaugeCounts = {
		destination: ENDPOINT_PATTERN,
		due: sum('due'),
		scheduled: sum('scheduled'),
		inFlight: sum('inFlight'),
		dead: sum('dead'),
		oldestLagMs: served.reduce((most, { oldestLagMs }) => Math.max(most, oldestLagMs ?? 0), 0),
		oldestAgeMs: endpoints.reduce((most, { oldestAgeMs }) => Math.max(most, oldestAgeMs ?? 0), 0),
		maxAttempts: endpoints.reduce((most, { maxAttempts }) => Math.max(most, maxAttempts), 0),
	}
	return [...destinations.filter((one) => !isOne(one)), all]
}

function* webhookGauges(source: ObservedSource, stats: WebhookStats): Generator<GaugeReading> {
	const service = source.serviceOf({ type: 'stats', emitter: source.name })
	yield ['yaoki_webhook_enabled_endpoints', [service], stats.enabled]
	yield ['yaoki_webhook_failing_endpoints', [service], stats.failing]
	for (const [reason, count] of Object.entries(stats.disabled))
		yield ['yaoki_webhook_disabled_endpoints', [service, reason], count]
	yield ['yaoki_webhook_longest_failure_seconds', [service], toSeconds(stats.failingForMs ?? 0)]
}

function* inboxGauges(source: ObservedSource, stats: InboxStats): Generator<GaugeReading> {
	const service = source.serviceOf({ type: 'stats', emitter: source.name })
	yield ['yaoki_inbox_remembered_messages', [service], stats.marks.count]
	yield ['yaoki_inbox_expired_messages', [service], stats.expired.count]
	yield ['yaoki_inbox_oldest_message_age_seconds', [service], toSeconds(stats.oldestAgeMs ?? 0)]
}

function* idempotencyGauges(source: ObservedSource, stats: IdempotencyStats): Generator<GaugeReading> {
	const service = source.serviceOf({ type: 'stats', emitter: source.name })
	yield ['yaoki_idempotency_running_requests', [service], stats.running]
}

const toSeconds = (ms: number): number => ms / 1_000
