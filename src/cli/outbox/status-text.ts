/** How the outbox is doing, as tables. What there is none of is left out: a line that says nothing hides the one that does. */

import type { OutboxStats, QueueFigures } from '../../outbox/diagnostics/stats.ts'
import type { CappedCount } from '../../outbox/store/store.ts'
import { formatDuration, formatNumber } from '../../text/format.ts'
import { formatTable } from '../../text/table.ts'
import type { CommandIo } from '../io.ts'

type Page = Pick<CommandIo, 'style' | 'columns'>

export function statusText(name: string, stats: OutboxStats, page: Page): string {
	const { style } = page
	const blocks = [
		queue(stats, page),
		attempts(stats, page),
		forecast(stats, page),
		relays(stats, page),
		gates(stats, page),
	]
	return [style.bold(name), ...blocks.filter((block) => block !== undefined)].join('\n\n')
}

/** `10,000+` where counting was ended. */
export const counted = ({ count, isCapped }: CappedCount): string =>
	`${formatNumber(count)}${isCapped ? '+' : ''}`

const forTime = (ms: number | null): string => (ms === null ? '-' : formatDuration(ms))

const table = (
	head: readonly string[],
	rows: readonly (readonly string[])[],
	{ columns, style }: Page,
): string => formatTable({ head, rows }, { width: columns, style })

function queue({ totals, destinations, hasMoreDestinations }: OutboxStats, page: Page): string {
	const rowOf = (
		name: string,
		{ due, scheduled, inFlight, dead, oldestLagMs, nextDueInMs }: QueueFigures,
	) => [
		...[name, counted(due), counted(scheduled), counted(inFlight), counted(dead)],
		...[forTime(oldestLagMs), forTime(nextDueInMs)],
	]
	const rows = destinations.map((one) => rowOf(one.destination, one))
	// One destination is the same as all of them.
	const all = rows.length === 1 ? [] : [rowOf('all', totals)]
	const more = hasMoreDestinations ? '\nThere are more destinations, which are not counted here.' : ''
	const head = ['destination', 'due', 'waiting', 'in flight', 'dead', 'oldest lag', 'next due in']
	return table(head, [...rows, ...all], page) + more
}

function attempts({ attempts: counts }: OutboxStats, page: Page): string | undefined {
	const last = counts.length - 1
	const rows = counts.flatMap((count, tried) =>
		count === 0 ? [] : [[`${tried}${tried === last ? ' and more' : ''}`, formatNumber(count)]],
	)
	return rows.length === 0 ? undefined : table(['attempts so far', 'messages'], rows, page)
}

function forecast({ forecast: slots }: OutboxStats, page: Page): string | undefined {
	const minutes = (ms: number) => Math.round(ms / 60_000)
	const rows = slots.flatMap(({ fromMs, toMs, ...slot }) =>
		slot.count === 0 ? [] : [[`in ${minutes(fromMs)} to ${minutes(toMs)} min`, counted(slot)]],
	)
	return rows.length === 0 ? undefined : table(['will be due', 'messages'], rows, page)
}

function relays(stats: OutboxStats, page: Page): string {
	if (stats.relays.length === 0) return page.style.yellow('No relay is running.')
	const rows = stats.relays.map(
		({ host, pid, destinations, inFlight, sent, failed, dead, throughput, seenAt }) => [
			`${host}:${pid} (${destinations.join(', ')})`,
			...[
				formatNumber(inFlight),
				formatNumber(sent),
				formatNumber(failed),
				formatNumber(dead),
				formatNumber(throughput, 1),
			],
			`${formatDuration(stats.now.getTime() - seenAt.getTime())} ago`,
		],
	)
	return table(['relay', 'in flight', 'sent', 'failed', 'dead', 'a second', 'seen'], rows, page)
}

function gates({ gates: all }: OutboxStats, page: Page): string | undefined {
	const rows = all
		.filter(({ state, pausedForMs }) => state !== 'closed' || pausedForMs > 0)
		.map(({ destination, state, pausedForMs, reason }) => [
			destination,
			state,
			forTime(pausedForMs),
			reason ?? '-',
		])
	return rows.length === 0 ? undefined : table(['held back', 'breaker', 'for', 'why'], rows, page)
}
