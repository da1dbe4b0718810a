/** The tables of `yaoki outbox status`. Empty tables are left out. */

import type { DestinationStats, OutboxStats, QueueCounts } from '../../outbox/diagnostics/stats.ts'
import type { EndpointCounts } from '../../outbox/store/endpoint-store.ts'
import type { CappedCount } from '../../outbox/store/store-stats.ts'
import { formatDuration, formatNumber, formatPercent } from '../../text/format.ts'
import { isPattern, servesBy } from '../../text/name-pattern.ts'
import { sanitizeLine } from '../../text/sanitize.ts'
import { formatTable } from '../../text/table.ts'
import { isEndpoint } from '../../webhooks/endpoint-names.ts'
import type { CommandIo } from '../io.ts'
import { pausedDestinations, pauseReason } from './health/relay-checks.ts'
import { relativeTo } from './parse-time.ts'

type Format = Pick<CommandIo, 'style' | 'columns'>
/** A clock may be corrected by a little at any time. */
const CLOCK_TOLERANCE_MS = 5_000

type Rows = readonly (readonly string[])[]

/** `endpoints` are those of webhooks; undefined if the store has none. */
export function renderStatus(
	name: string,
	stats: OutboxStats,
	{ style, columns }: Format,
	endpoints?: EndpointCounts | undefined,
): string {
	const table = (head: readonly string[], rows: Rows): string[] =>
		rows.length === 0 ? [] : [formatTable({ head, rows }, { width: columns, style })]
	const more = stats.hasMoreDestinations ? ['There are more destinations. They are not counted here.'] : []
	return [
		style.bold(sanitizeLine(name)),
		...(stats.clockBehindMs > CLOCK_TOLERANCE_MS
			? [style.red(`The database's clock was set back by ${formatDuration(stats.clockBehindMs)}.`)]
			: []),
		...table(
			['destination', 'due', 'scheduled', 'in flight', 'dead', 'oldest lag', 'next due in'],
			queueRows(stats),
		),
		...more,
		...table(['failing', 'messages', 'share', 'most attempts', 'oldest'], failingRows(stats)),
		...table(['blocked keys of', 'keys', 'messages behind', 'blocked by', 'for'], blockedRows(stats)),
		...table(['attempts so far', 'messages'], attemptRows(stats)),
		...table(['will be due', 'messages'], forecastRows(stats)),
		...(stats.relays.length === 0 ? [style.yellow('No relay is running.')] : []),
		...table(
			['relay', 'in flight', 'sent', 'failed', 'dead', 'throughput, msg/s', 'last seen'],
			relayRows(stats),
		),
		...table(['relay that ended without stopping', 'last seen'], endedRows(stats)),
		...table(['paused destination', 'circuit', 'for', 'reason'], pausedRows(stats)),
		...table(['endpoints of webhooks', 'number'], endpointRows(endpoints)),
	].join('\n\n')
}

/** Returns `10,000+` if counting stopped there. */
const formatCapped = ({ count, isCapped }: CappedCount): string =>
	`${formatNumber(count)}${isCapped ? '+' : ''}`

const durationOrDash = (ms: number | null): string => (ms === null ? '-' : formatDuration(ms))

function queueRows({ totals, destinations }: OutboxStats): Rows {
	const row = (name: string, counts: QueueCounts) => {
		const { due, scheduled, inFlight, dead, oldestLagMs, nextDueInMs } = counts
		return [
			...[name, ...[due, scheduled, inFlight, dead].map(formatCapped)],
			...[durationOrDash(oldestLagMs), durationOrDash(nextDueInMs)],
		]
	}
	const rows = destinations.map((one) => row(one.destination, one))
	// A total of one destination repeats it.
	return rows.length === 1 ? rows : [...rows, row('all', totals)]
}

const failingRows = ({ destinations }: OutboxStats): Rows =>
	destinations
		.filter(({ failing }) => failing.count > 0)
		.map(({ destination, failing, failingShare, maxAttempts, oldestAgeMs }) => [
			...[destination, formatCapped(failing), formatPercent(failingShare ?? 0, 0)],
			...[formatNumber(maxAttempts), durationOrDash(oldestAgeMs)],
		])

const blockedRows = ({ destinations }: OutboxStats): Rows => {
	const row = (
		destination: string,
		{ keys, messages, worst }: DestinationStats['blockedByDead'],
		by: string,
	) =>
		worst === null
			? []
			: [[destination, formatCapped(keys), formatCapped(messages), by, formatDuration(worst.forMs)]]
	return destinations.flatMap(({ destination, blockedByDead, blockedByRetry }) => [
		...row(destination, blockedByDead, 'a dead letter'),
		...row(destination, blockedByRetry, 'a failing message'),
	])
}

/** Leaves out endpoints of webhooks that a pattern of the same relay serves: there may be thousands. */
const served = (destinations: readonly string[]): readonly string[] => {
	const patterns = destinations.filter(isPattern)
	const isShown = (one: string) =>
		isPattern(one) || !isEndpoint(one) || !patterns.some((pattern) => servesBy(pattern, one))
	return destinations.filter(isShown)
}

const endedRows = ({ endedRelays, now }: OutboxStats): Rows =>
	endedRelays.map(({ host, pid, destinations, seenAt }) => [
		`${host}:${pid} (${served(destinations).join(', ')})`,
		relativeTo(now.getTime(), seenAt),
	])

const attemptRows = ({ attempts }: OutboxStats): Rows =>
	attempts.flatMap((count, index) => {
		const isLast = index === attempts.length - 1
		return count === 0 ? [] : [[`${index}${isLast ? ' or more' : ''}`, formatNumber(count)]]
	})

function forecastRows({ forecast }: OutboxStats): Rows {
	const minutes = (ms: number) => Math.round(ms / 60_000)
	return forecast.flatMap(({ fromMs, toMs, ...slot }) =>
		slot.count === 0 ? [] : [[`in ${minutes(fromMs)} to ${minutes(toMs)} min`, formatCapped(slot)]],
	)
}

const relayRows = ({ relays, now }: OutboxStats): Rows =>
	relays.map(({ host, pid, destinations, inFlight, sent, failed, dead, throughput, seenAt }) => [
		`${host}:${pid} (${served(destinations).join(', ')})`,
		...[inFlight, sent, failed, dead].map((count) => formatNumber(count)),
		formatNumber(throughput, 1),
		relativeTo(now.getTime(), seenAt),
	])

const pausedRows = (stats: OutboxStats): Rows =>
	pausedDestinations(stats).map((circuit) => {
		const { destination, state, pausedForMs } = circuit
		const duration = pausedForMs === Infinity ? 'until resumed' : formatDuration(pausedForMs)
		return [destination, state, duration, pauseReason(circuit) ?? '-']
	})

function endpointRows(counts: EndpointCounts | undefined): Rows {
	if (!counts) return []
	const { enabled, failing, disabled } = counts
	const numbers: readonly (readonly [string, number])[] = [
		['enabled', enabled],
		['of them failing', failing],
		['disabled by an operator', disabled.operator],
		['disabled because they failed for too long', disabled.failing],
		['disabled because they returned 410', disabled.gone],
	]
	return numbers.flatMap(([name, count]) => (count === 0 ? [] : [[name, formatNumber(count)]]))
}
