/**
 * How the outbox is doing, at a cost that does not grow with it: every figure is counted up to a limit and says when it stopped there.
 * An exact count of ten million rows is what brings a database down just when somebody looks.
 */
import type { CircuitState } from '../../core/events/events.ts'
import { FORECAST_STEP_MS } from '../store/figures.ts'
import type { DestinationCircuit, PauseReason, RelayReport, RelayRow } from '../store/rows.ts'
import type { CappedCount, DestinationCounts, Store } from '../store/store.ts'
import { atLeastReported, inFlightByReports } from './in-flight.ts'
import { isAlive } from './relays.ts'

/** How messages stand, in all or at one destination. */
export type QueueFigures = Omit<DestinationCounts, 'destination'>

/** How many fall due in five minutes of the next hour. */
interface ForecastSlot extends CappedCount {
	readonly fromMs: number
	readonly toMs: number
}

interface RelayFigures extends RelayReport {
	readonly startedAt: Date
	readonly seenAt: Date
}

/** What all relays know of a destination that had trouble. */
interface GateFigures {
	readonly destination: string
	readonly state: CircuitState
	/** For how long nobody sends to it; 0 when somebody may. */
	readonly pausedForMs: number
	readonly reason: PauseReason | null
}

/** How the outbox is doing. */
export interface OutboxStats {
	/** The database's time. */
	readonly now: Date
	readonly totals: QueueFigures
	readonly destinations: readonly DestinationCounts[]
	/** Are there more destinations than the first thousand, which are told of? */
	readonly hasMoreDestinations: boolean
	/** How many messages in the queue, of those that were looked at, have had so many attempts: index 0 none. The last counts all from there on. */
	readonly attempts: readonly number[]
	/** The next hour, five minutes each. */
	readonly forecast: readonly ForecastSlot[]
	/** Messages sent a second, lately, by all relays that are alive. */
	readonly throughput: number
	/** Those that are alive. */
	readonly relays: readonly RelayFigures[]
	readonly gates: readonly GateFigures[]
}

const COUNT_LIMIT = 10_000

/** Asks a store how it is doing. No figure counts beyond 10,000 for a destination, and of many destinations each has a share of some of these. */
export async function readStats(store: Store): Promise<OutboxStats> {
	const [stats, rows] = await Promise.all([store.stats(COUNT_LIMIT), store.relays()])
	const relays = rows.filter((relay) => isAlive(relay, stats.now))
	const gates = await store.circuits(namesOf(stats.destinations, relays))
	const destinations = inFlightByReports(stats.destinations, relays)
	const { hasMoreDestinations } = stats
	return {
		now: new Date(stats.now),
		totals: inAll(destinations, relays, hasMoreDestinations),
		destinations,
		hasMoreDestinations,
		attempts: stats.attempts,
		forecast: stats.forecast.map((slot, index) => ({
			fromMs: index * FORECAST_STEP_MS,
			toMs: (index + 1) * FORECAST_STEP_MS,
			...slot,
		})),
		throughput: relays.reduce((sum, relay) => sum + relay.throughput, 0),
		relays: relays.map((relay) => ({
			...relay,
			startedAt: new Date(relay.startedAt),
			seenAt: new Date(relay.seenAt),
		})),
		gates: gates.map(gateFigures),
	}
}

/** A destination may have a gate and nothing in the queue. */
function namesOf(counted: readonly DestinationCounts[], relays: readonly RelayRow[]): readonly string[] {
	const names = new Set(counted.map(({ destination }) => destination))
	for (const relay of relays) for (const name of relay.destinations) names.add(name)
	names.delete('*')
	return [...names]
}

const gateFigures = ({ destination, state, pausedForMs, reason }: DestinationCircuit): GateFigures => ({
	destination,
	state,
	pausedForMs,
	reason,
})

function inAll(
	parts: readonly DestinationCounts[],
	relays: readonly RelayRow[],
	hasMore: boolean,
): QueueFigures {
	const total = (counts: readonly CappedCount[]): CappedCount => ({
		count: counts.reduce((sum, { count }) => sum + count, 0),
		isCapped: hasMore || counts.some(({ isCapped }) => isCapped),
	})
	return {
		due: total(parts.map(({ due }) => due)),
		scheduled: total(parts.map(({ scheduled }) => scheduled)),
		inFlight: atLeastReported(total(parts.map(({ inFlight }) => inFlight)), relays),
		dead: total(parts.map(({ dead }) => dead)),
		oldestLagMs: chosen(
			Math.max,
			parts.map(({ oldestLagMs }) => oldestLagMs),
		),
		nextDueInMs: chosen(
			Math.min,
			parts.map(({ nextDueInMs }) => nextDueInMs),
		),
	}
}

function chosen(choose: (...all: number[]) => number, figures: readonly (number | null)[]): number | null {
	const known = figures.filter((figure) => figure !== null)
	return known.length === 0 ? null : choose(...known)
}
