/**
 * The state of the outbox in numbers, at a bounded cost: every count stops at a limit and says so. An exact
 * count of ten million rows can overload a database just when it is needed.
 */
import { isPattern } from '../../text/name-pattern.ts'
import { FORECAST_STEP_MS, NOTHING_BLOCKED } from '../store/counting.ts'
import type { DestinationCircuit, OperatorPause, RelayReport, RelayRow } from '../store/rows.ts'
import type { OutboxStore } from '../store/store.ts'
import type { BlockedKeys, CappedCount, DestinationCounts } from '../store/store-stats.ts'
import { inFlightByDestination, inFlightTotal, isAlive } from './relays.ts'

/** Counts of one destination. */
export interface DestinationStats extends DestinationCounts {
	/**
	 * Share of queued messages whose latest attempt failed, from 0 to 1; null without messages. Sent messages
	 * leave the queue, so a destination that is idle otherwise has a share of 1 while one message waits for its
	 * retry.
	 */
	readonly failingShare: number | null
}

/** Counts of messages by state, in total or of one destination. */
export type QueueCounts = Omit<DestinationStats, 'destination'>

/** The number of messages that become due in five minutes of the next hour. */
interface ForecastSlot extends CappedCount {
	readonly fromMs: number
	readonly toMs: number
}

interface RelayInfo extends RelayReport {
	readonly startedAt: Date
	readonly seenAt: Date
}

/** The shared circuit of a destination that had failures or was paused. */
interface CircuitInfo extends Pick<DestinationCircuit, 'destination' | 'state' | 'pausedForMs' | 'reason'> {
	/** Who paused the destination, why and since when; undefined without a pause by an operator. */
	readonly operatorPause: (Omit<OperatorPause, 'pausedAt'> & { readonly pausedAt: Date }) | undefined
}

/**
 * The state of the outbox: counts of messages by destination, relays and circuits. `outbox.stats()` returns
 * it.
 */
export interface OutboxStats {
	/** The database's time. */
	readonly now: Date
	readonly totals: QueueCounts
	readonly destinations: readonly DestinationStats[]
	/** True if there are more destinations than the 1,000 that are listed. */
	readonly hasMoreDestinations: boolean
	/**
	 * The number of queued messages by number of attempts: index 0 for none. The last entry includes all higher
	 * numbers.
	 */
	readonly attempts: readonly number[]
	/** The next hour, in steps of five minutes. */
	readonly forecast: readonly ForecastSlot[]
	/** Messages per second, over all relays that are alive. */
	readonly throughput: number
	/** Relays that are alive. */
	readonly relays: readonly RelayInfo[]
	/**
	 * Relays that ended without stopping, such as killed ones. The next heartbeat of another relay removes them
	 * after a while.
	 */
	readonly endedRelays: readonly RelayInfo[]
	/** The circuits of destinations that have messages or a relay, or that an operator has paused. */
	readonly circuits: readonly CircuitInfo[]
	/** How far the database's clock is behind a time that it recorded earlier: it was set back. Otherwise 0. */
	readonly clockBehindMs: number
}

const COUNT_LIMIT = 10_000

/** No count exceeds 10,000 per destination; many destinations share that limit. */
export async function readStats(store: OutboxStore): Promise<OutboxStats> {
	const [stats, rows] = await Promise.all([store.stats(COUNT_LIMIT), store.relays()])
	const relays = rows.filter((relay) => isAlive(relay, stats.now))
	const circuits = await readCircuits(store, destinationNames(stats.destinations, relays))
	const ordered = new Set(rows.flatMap(({ orderedDestinations }) => orderedDestinations))
	const destinations = inFlightByDestination(stats.destinations, relays).map((one) => ({
		...one,
		// Without an order, later messages are sent while the first one of their key waits.
		blockedByRetry: ordered.has(one.destination) ? one.blockedByRetry : NOTHING_BLOCKED,
		failingShare: failingShare(one),
	}))
	const { hasMoreDestinations, clockBehindMs } = stats
	return {
		now: new Date(stats.now),
		totals: sumCounts(destinations, relays, hasMoreDestinations),
		destinations,
		hasMoreDestinations,
		attempts: stats.attempts,
		forecast: stats.forecast.map((slot, index) => ({
			fromMs: index * FORECAST_STEP_MS,
			toMs: (index + 1) * FORECAST_STEP_MS,
			...slot,
		})),
		throughput: relays.reduce((sum, relay) => sum + relay.throughput, 0),
		relays: relays.map(toRelayInfo),
		endedRelays: rows.filter((relay) => !relays.includes(relay)).map(toRelayInfo),
		circuits: circuits.map(({ destination, state, pausedForMs, reason, operatorPause }) => ({
			destination,
			state,
			pausedForMs,
			reason,
			operatorPause: operatorPause
				? { ...operatorPause, pausedAt: new Date(operatorPause.pausedAt) }
				: undefined,
		})),
		clockBehindMs,
	}
}

/** Includes destinations that were paused before they had a message or a relay. */
async function readCircuits(store: OutboxStore, names: readonly string[]): Promise<DestinationCircuit[]> {
	const [known, paused] = await Promise.all([store.circuits(names), store.operatorPauses(COUNT_LIMIT)])
	const seen = new Set(names)
	return [...known, ...paused.filter(({ destination }) => !seen.has(destination))]
}

const toRelayInfo = (relay: RelayRow): RelayInfo => ({
	...relay,
	startedAt: new Date(relay.startedAt),
	seenAt: new Date(relay.seenAt),
})

/** Returns an estimate if a count is capped, never more than 1. */
function failingShare(
	counts: Pick<QueueCounts, 'due' | 'scheduled' | 'inFlight' | 'failing'>,
): number | null {
	const { due, scheduled, inFlight, failing } = counts
	const queued = due.count + scheduled.count + inFlight.count
	return queued === 0 ? null : Math.min(1, failing.count / queued)
}

/** Includes destinations that relays serve, because a destination with a circuit may have no messages. */
function destinationNames(counted: readonly DestinationCounts[], relays: readonly RelayRow[]): string[] {
	const names = new Set(counted.map(({ destination }) => destination))
	for (const relay of relays) for (const name of relay.destinations) if (!isPattern(name)) names.add(name)
	return [...names]
}

function sumCounts(parts: readonly DestinationStats[], relays: RelayRow[], hasMore: boolean): QueueCounts {
	const sumOf = (countOf: (part: DestinationStats) => CappedCount): CappedCount => ({
		count: parts.reduce((total, part) => total + countOf(part).count, 0),
		isCapped: hasMore || parts.some((part) => countOf(part).isCapped),
	})
	const sum = (name: 'due' | 'scheduled' | 'inFlight' | 'dead' | 'failing') => sumOf((part) => part[name])
	const blocked = (name: 'blockedByDead' | 'blockedByRetry'): BlockedKeys => ({
		keys: sumOf((part) => part[name].keys),
		messages: sumOf((part) => part[name].messages),
		worst: parts
			.flatMap((part) => part[name].worst ?? [])
			.reduce<BlockedKeys['worst']>(
				(worst, one) => (worst !== null && worst.messages.count >= one.messages.count ? worst : one),
				null,
			),
	})
	const pick = (
		name: 'oldestLagMs' | 'oldestAgeMs' | 'nextDueInMs',
		choose: (...all: number[]) => number,
	): number | null => {
		const known = parts.map((part) => part[name]).filter((value) => value !== null)
		return known.length === 0 ? null : choose(...known)
	}
	const counts = {
		due: sum('due'),
		scheduled: sum('scheduled'),
		inFlight: inFlightTotal(sum('inFlight'), relays),
		dead: sum('dead'),
		failing: sum('failing'),
	}
	return {
		...counts,
		failingShare: failingShare(counts),
		maxAttempts: parts.reduce((most, { maxAttempts }) => Math.max(most, maxAttempts), 0),
		blockedByDead: blocked('blockedByDead'),
		blockedByRetry: blocked('blockedByRetry'),
		oldestLagMs: pick('oldestLagMs', Math.max),
		oldestAgeMs: pick('oldestAgeMs', Math.max),
		nextDueInMs: pick('nextDueInMs', Math.min),
	}
}
