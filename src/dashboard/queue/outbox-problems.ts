/** What is wrong with an outbox, from its statistics. The limits are those of `yaoki outbox check`. */
import type { OutboxStats } from '../../outbox/diagnostics/stats.ts'
import { servesBy } from '../../text/name-pattern.ts'
import { ENDPOINT_PATTERN, isEndpoint } from '../../webhooks/endpoint-names.ts'
import type { Count, Problem } from '../contract.ts'
import type { ProblemTimes } from './problem-times.ts'

const LATE_MS = 300_000
const CLOCK_MS = 5_000

const NOTHING: Count = { count: 0, isCapped: false }

type Destination = OutboxStats['destinations'][number]

const sum = (counts: readonly Count[]): Count => ({
	count: counts.reduce((total, { count }) => total + count, 0),
	isCapped: counts.some(({ isCapped }) => isCapped),
})

/** Endpoints that fail have problems of their own: some of thousands are always down. */
export function outboxProblems(source: string, stats: OutboxStats, times: ProblemTimes): Problem[] {
	const dueOf = (name: string): Count =>
		stats.destinations.find(({ destination }) => destination === name)?.due ?? NOTHING
	const circuits = circuitProblems(source, stats, times, dueOf)
	const blocked = new Set(
		stats.circuits
			.filter(({ state, pausedForMs }) => state !== 'closed' || pausedForMs > 0)
			.map(({ destination }) => destination),
	)
	const isServed = ({ destination }: Destination): boolean =>
		stats.relays.some(({ destinations }) => destinations.some((name) => servesBy(name, destination)))
	const late = stats.destinations.filter(
		(one) => (one.oldestLagMs ?? 0) > LATE_MS && isServed(one) && !blocked.has(one.destination),
	)
	const problems: Problem[] = [
		...circuits,
		...relayProblems(source, stats, times, isServed),
		...lateProblems(source, late),
		...deadProblems(source, stats, times),
	]
	const { clockBehindMs } = stats
	if (clockBehindMs > CLOCK_MS)
		problems.push({
			severity: 'error',
			kind: 'clock-behind',
			source,
			sinceMs: times.since('clock-behind'),
			behindMs: clockBehindMs,
		})
	return problems
}

function circuitProblems(
	source: string,
	{ circuits, now }: OutboxStats,
	times: ProblemTimes,
	dueOf: (destination: string) => Count,
): Problem[] {
	const problems: Problem[] = []
	for (const { destination, state, pausedForMs, reason, operatorPause } of circuits) {
		const base = { source, destination, due: dueOf(destination) }
		if (operatorPause)
			problems.push({
				...base,
				severity: 'warning',
				kind: 'destination-paused',
				sinceMs: Math.max(0, now.getTime() - operatorPause.pausedAt.getTime()),
				endsInMs: operatorPause.pausedForMs === Infinity ? null : operatorPause.pausedForMs,
				by: operatorPause.by,
				reason: operatorPause.reason,
			})
		if (isEndpoint(destination)) continue
		const automatic = { ...base, endsInMs: operatorPause ? null : pausedForMs, by: null }
		if (state !== 'closed')
			problems.push({
				...automatic,
				severity: 'error',
				kind: 'destination-open',
				sinceMs: times.since(`open ${destination}`),
				reason: reason === 'operator' ? null : reason,
			})
		else if (reason === 'retry-after' && pausedForMs > 0)
			problems.push({
				...automatic,
				severity: 'warning',
				kind: 'destination-retry-after',
				sinceMs: times.since(`retry-after ${destination}`),
				reason,
			})
	}
	return problems
}

function relayProblems(
	source: string,
	{ destinations, endedRelays, now }: OutboxStats,
	times: ProblemTimes,
	isServed: (destination: Destination) => boolean,
): Problem[] {
	const unserved = sum(destinations.filter((one) => !isServed(one)).map(({ due }) => due))
	const problems: Problem[] = endedRelays.map(({ id, seenAt }) => ({
		severity: 'warning',
		kind: 'relay-ended',
		source,
		sinceMs: Math.max(0, now.getTime() - seenAt.getTime()),
		relay: id,
	}))
	if (unserved.count > 0)
		problems.push({
			severity: 'error',
			kind: 'no-relay',
			source,
			sinceMs: times.since('no-relay'),
			due: unserved,
		})
	return problems
}

/** Endpoints are one problem. Those that fail have open circuits, so it is the relays that are late. */
function lateProblems(source: string, late: readonly Destination[]): Problem[] {
	const problemOf = (destination: string, parts: readonly Destination[]): Problem => {
		const lagMs = Math.max(...parts.map(({ oldestLagMs }) => oldestLagMs ?? 0))
		const due = sum(parts.map((part) => part.due))
		const sinceMs = lagMs - LATE_MS
		return { severity: 'warning', kind: 'messages-late', source, sinceMs, destination, lagMs, due }
	}
	const endpoints = late.filter(({ destination }) => isEndpoint(destination))
	return [
		...late
			.filter(({ destination }) => !isEndpoint(destination))
			.map((one) => problemOf(one.destination, [one])),
		...(endpoints.length > 0 ? [problemOf(ENDPOINT_PATTERN, endpoints)] : []),
	]
}

function deadProblems(source: string, { destinations }: OutboxStats, times: ProblemTimes): Problem[] {
	const endpoints = destinations.filter(({ destination }) => isEndpoint(destination))
	const counts: { readonly destination: string; readonly dead: Count }[] = [
		...destinations.filter(({ destination }) => !isEndpoint(destination)),
		{ destination: ENDPOINT_PATTERN, dead: sum(endpoints.map(({ dead }) => dead)) },
	]
	return counts
		.filter(({ dead }) => dead.count > 0)
		.map(({ destination, dead }) => ({
			severity: 'warning',
			kind: 'dead-letters',
			source,
			sinceMs: times.since(`dead ${destination}`),
			destination,
			dead,
		}))
}
