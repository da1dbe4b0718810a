/** The tables of `yaoki outbox status`. Empty tables are left out. */
import type { OutboxStats, QueueCounts } from '../../outbox/diagnostics/stats.ts'
import type { CappedCount } from '../../outbox/store/store.ts'
import { formatDuration, formatNumber } from '../../text/format.ts'
import { sanitizeLine } from '../../text/sanitize.ts'
import { formatTable } from '../../text/table.ts'
import type { CommandIo } from '../io.ts'
import { relativeTo } from './parse-time.ts'

type Format = Pick<CommandIo, 'style' | 'columns'>
type Rows = readonly (readonly string[])[]

export function renderStatus(name: string, stats: OutboxStats, { style, columns }: Format): string {
	const table = (head: readonly string[], rows: Rows): string[] =>
		rows.length === 0 ? [] : [formatTable({ head, rows }, { width: columns, style })]
	const more = stats.hasMoreDestinations ? ['There are more destinations. They are not counted here.'] : []
	return [
		style.bold(sanitizeLine(name)),
		...table(
			['destination', 'due', 'scheduled', 'in flight', 'dead', 'oldest lag', 'next due in'],
			queueRows(stats),
		),
		...more,
		...table(['attempts so far', 'messages'], attemptRows(stats)),
		...table(['will be due', 'messages'], forecastRows(stats)),
		...(stats.relays.length === 0 ? [style.yellow('No relay is running.')] : []),
		...table(
			['relay', 'in flight', 'sent', 'failed', 'dead', 'throughput, msg/s', 'last seen'],
			relayRows(stats),
		),
		...table(['paused destination', 'circuit', 'for', 'reason'], pausedRows(stats)),
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
		`${host}:${pid} (${destinations.join(', ')})`,
		...[inFlight, sent, failed, dead].map((count) => formatNumber(count)),
		formatNumber(throughput, 1),
		relativeTo(now.getTime(), seenAt),
	])

/** Returns the destinations to which relays do not send at the moment, or only probes. */
export const pausedDestinations = ({ circuits }: OutboxStats): OutboxStats['circuits'] =>
	circuits.filter(({ state, pausedForMs }) => state !== 'closed' || pausedForMs > 0)

const pausedRows = (stats: OutboxStats): Rows =>
	pausedDestinations(stats).map((circuit) => {
		const { destination, state, pausedForMs } = circuit
		const duration = pausedForMs === Infinity ? 'until resumed' : formatDuration(pausedForMs)
		return [destination, state, duration, pauseReason(circuit) ?? '-']
	})

/** Returns why a destination is paused; for an operator's pause with the name and the reason. */
export function pauseReason({ reason, operatorPause }: OutboxStats['circuits'][number]): string | null {
	if (!operatorPause) return reason
	const { by, reason: why } = operatorPause
	return why === null ? `by ${by}` : `by ${by}: ${why}`
}
