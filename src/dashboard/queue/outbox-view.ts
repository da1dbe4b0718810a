/** Turns the statistics of an outbox into what the page shows. */
import type { DestinationStats, OutboxStats, QueueCounts } from '../../outbox/diagnostics/stats.ts'
import type { Outbox } from '../../outbox/outbox.ts'
import { isPattern } from '../../text/name-pattern.ts'
import type { Count, DestinationRow, OutboxView, RelayRow } from '../contract.ts'
import type { QueueSettings } from './settings.ts'

const NOTHING: Count = { count: 0, isCapped: false }

const IDLE: Omit<DestinationRow, CircuitField> = {
	due: NOTHING,
	scheduled: NOTHING,
	inFlight: NOTHING,
	dead: NOTHING,
	lagMs: null,
	ageMs: null,
	failingShare: null,
}

type CircuitField = 'destination' | 'circuit' | 'pause' | 'pauseEndsInMs' | 'pausedBy' | 'pauseReason'
type Circuit = OutboxStats['circuits'][number]
type Relay = OutboxStats['relays'][number]

const toCounts = (counts: QueueCounts | DestinationStats): Omit<DestinationRow, CircuitField> => ({
	due: counts.due,
	scheduled: counts.scheduled,
	inFlight: counts.inFlight,
	dead: counts.dead,
	lagMs: counts.oldestLagMs,
	ageMs: counts.oldestAgeMs,
	failingShare: counts.failingShare,
})

export function toOutboxView(
	source: string,
	{ keepsHistory }: Pick<Outbox, 'keepsHistory'>,
	stats: OutboxStats,
	{ host, pid }: Pick<QueueSettings, 'host' | 'pid'>,
): OutboxView {
	const circuits = new Map(stats.circuits.map((circuit) => [circuit.destination, circuit]))
	const toRelay = (relay: Relay, isAlive: boolean): RelayRow => ({
		id: relay.id,
		host: relay.host,
		pid: relay.pid,
		isAlive,
		isThisProcess: relay.host === host && relay.pid === pid,
		destinations: relay.destinations,
		inFlight: relay.inFlight,
		sent: relay.sent,
		failed: relay.failed,
		dead: relay.dead,
		throughput: relay.throughput,
		startedAt: relay.startedAt.getTime(),
		seenAt: relay.seenAt.getTime(),
	})
	return {
		source,
		totals: toCounts(stats.totals),
		destinations: [
			...stats.destinations.map((one) => ({
				...toCounts(one),
				...circuitFields(one.destination, circuits.get(one.destination)),
			})),
			...idleDestinations(stats).map((name) => ({ ...IDLE, ...circuitFields(name, circuits.get(name)) })),
		],
		hasMoreDestinations: stats.hasMoreDestinations,
		throughput: stats.throughput,
		forecast: stats.forecast.map(({ count, isCapped }) => ({ count, isCapped })),
		relays: [
			...stats.relays.map((relay) => toRelay(relay, true)),
			...stats.endedRelays.map((relay) => toRelay(relay, false)),
		],
		keepsHistory,
	}
}

/** Destinations without messages that are paused or that a relay serves: an operator may want to pause them. */
function idleDestinations({ destinations, circuits, relays, hasMoreDestinations }: OutboxStats): string[] {
	const names = new Set(circuits.filter(isPaused).map(({ destination }) => destination))
	// One that is not counted may have messages if not all are counted.
	if (!hasMoreDestinations)
		for (const relay of relays) for (const name of relay.destinations) if (!isPattern(name)) names.add(name)
	for (const { destination } of destinations) names.delete(destination)
	return [...names]
}

/** True if relays send nothing to the destination, or only a probe. */
export const isPaused = ({ state, pausedForMs }: Pick<Circuit, 'state' | 'pausedForMs'>): boolean =>
	state !== 'closed' || pausedForMs > 0

function circuitFields(
	destination: string,
	circuit: Circuit | undefined,
): Pick<DestinationRow, CircuitField> {
	if (!circuit)
		return {
			destination,
			circuit: 'closed',
			pause: null,
			pauseEndsInMs: null,
			pausedBy: null,
			pauseReason: null,
		}
	const { state, pausedForMs, reason, operatorPause } = circuit
	const cause = reason === 'retry-after' && state === 'closed' ? 'retry-after' : 'circuit'
	return {
		destination,
		circuit: state,
		pause: operatorPause ? 'operator' : isPaused(circuit) ? cause : null,
		pauseEndsInMs: isPaused(circuit) && pausedForMs !== Infinity ? pausedForMs : null,
		pausedBy: operatorPause?.by ?? null,
		pauseReason: operatorPause ? operatorPause.reason : isPaused(circuit) ? reason : null,
	}
}
