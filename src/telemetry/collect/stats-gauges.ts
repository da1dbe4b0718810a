/** Reads gauges from what `stats()` of a client, outbox, inbox or idempotency engine returns. */
import type { RequestStats } from '../../http/client/http-engine.ts'
import type { IdempotencyStats } from '../../idempotency/engine/engine.ts'
import type { OutboxStats } from '../../outbox/diagnostics/stats.ts'
import type { InboxStats } from '../../outbox/inbox/inbox-stats.ts'
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
		const labels = [serviceOf(destination), destination]
		yield ['yaoki_outbox_circuit_state', labels, toStateValue(state)]
		for (const one of PAUSE_REASONS) {
			const isPaused = pausedForMs > 0 && reason === one ? 1 : 0
			pausedDestinations += isPaused
			yield ['yaoki_outbox_pause_state', [...labels, one], isPaused]
		}
	}
	yield ['yaoki_outbox_paused_destinations', [service], pausedDestinations]
	for (const counts of destinations) {
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
