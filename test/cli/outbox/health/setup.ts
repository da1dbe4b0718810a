/** The statistics of an outbox, made by hand: `check` gets them from `outbox.stats()`. */
import type { DestinationStats, OutboxStats } from '../../../../src/outbox/diagnostics/stats.ts'
import type { BlockedKeys, CappedCount } from '../../../../src/outbox/store/store-stats.ts'

export const NOW: number = Date.UTC(2026, 0, 1, 12)

export const counted = (count: number, isCapped = false): CappedCount => ({ count, isCapped })

const NONE: BlockedKeys = { keys: counted(0), messages: counted(0), worst: null }

const EMPTY: Omit<DestinationStats, 'destination'> = {
	due: counted(0),
	scheduled: counted(0),
	inFlight: counted(0),
	dead: counted(0),
	failing: counted(0),
	failingShare: null,
	maxAttempts: 0,
	oldestLagMs: null,
	oldestAgeMs: null,
	blockedByDead: NONE,
	blockedByRetry: NONE,
	nextDueInMs: null,
}

export const destination = (name: string, counts: Partial<DestinationStats> = {}): DestinationStats => ({
	...EMPTY,
	destination: name,
	...counts,
})

export const blocked = (messages: number, id = 'the-first'): BlockedKeys => ({
	keys: counted(1),
	messages: counted(messages),
	worst: { key: 'order-7', id, forMs: 60_000, messages: counted(messages) },
})

type Circuit = OutboxStats['circuits'][number]

export const circuit = (name: string, facts: Partial<Circuit> = {}): Circuit => ({
	destination: name,
	state: 'closed',
	pausedForMs: 0,
	reason: null,
	operatorPause: undefined,
	...facts,
})

type Relay = OutboxStats['relays'][number]

export const relay = (destinations: readonly string[], facts: Partial<Relay> = {}): Relay =>
	({
		host: 'host',
		pid: 1,
		destinations,
		throughput: 0,
		seenAt: new Date(NOW),
		startedAt: new Date(NOW),
		...facts,
	}) as Relay

/** Returns statistics with these parts. The totals are the sums and maxima of the destinations. */
export function setup(parts: Partial<OutboxStats> = {}): OutboxStats {
	const { destinations = [] } = parts
	const sum = (read: (one: DestinationStats) => CappedCount) =>
		counted(destinations.reduce((count, one) => count + read(one).count, 0))
	const max = (read: (one: DestinationStats) => number | null) => {
		const values = destinations.flatMap((one) => read(one) ?? [])
		return values.length === 0 ? null : Math.max(...values)
	}
	return {
		now: new Date(NOW),
		totals: {
			...EMPTY,
			due: sum(({ due }) => due),
			scheduled: sum(({ scheduled }) => scheduled),
			inFlight: sum(({ inFlight }) => inFlight),
			failing: sum(({ failing }) => failing),
			maxAttempts: max(({ maxAttempts }) => maxAttempts) ?? 0,
			oldestLagMs: max(({ oldestLagMs }) => oldestLagMs),
			oldestAgeMs: max(({ oldestAgeMs }) => oldestAgeMs),
		},
		destinations,
		hasMoreDestinations: false,
		attempts: [],
		forecast: [],
		throughput: 0,
		relays: [],
		endedRelays: [],
		circuits: [],
		clockBehindMs: 0,
		...parts,
	}
}
