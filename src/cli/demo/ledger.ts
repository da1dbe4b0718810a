/**
 * The account at the end of a demo. What was committed is read from the database, what arrived is the receiver's own count, and the
 * two are compared id by id: sums that happen to be equal prove nothing.
 */
import { formatNumber } from '../../text/format.ts'
import { formatPairs } from '../../text/table.ts'
import type { CommandIo } from '../io.ts'
import type { Faults, Repeats } from './receiver.ts'

/** A relay that was killed. */
export interface Kill {
	readonly relay: string
	/** How many of its messages the receiver had taken and not yet answered. */
	readonly unanswered: number
}

/** A relay process, and how much it said that it sent before it ended. */
interface RelayEntry {
	readonly name: string
	readonly pid: number | undefined
	readonly sent: number
}

export interface Books {
	readonly database: string
	readonly relays: readonly RelayEntry[]
	/** The ids of the orders that were committed. */
	readonly committed: readonly string[]
	readonly rolledBack: number
	/** How often each order was taken by the receiver. */
	readonly received: ReadonlyMap<string, number>
	/** How many repeats the receiver refused, and how many of them each relay made by being killed. */
	readonly refused: number
	readonly refusedByKill: ReadonlyMap<string, Repeats>
	readonly kills: readonly Kill[]
	readonly faults: Readonly<Faults>
	/** Messages that are still in the queue, and dead letters. */
	readonly left: number
	readonly dead: number
}

interface KillEntry extends Kill {
	/** Repeats of what it had sent and not yet written down. */
	readonly duplicatesRefused: number
	/** Those among them that the receiver had answered before. */
	readonly ofThoseAnswered: number
}

export interface Ledger {
	readonly database: string
	readonly relays: readonly RelayEntry[]
	readonly committed: number
	readonly receivedOnce: number
	/** Committed and not received. */
	readonly lost: readonly string[]
	/** Taken more than once. */
	readonly repeated: readonly string[]
	/** Received though it was never committed. */
	readonly phantom: readonly string[]
	readonly rolledBack: number
	readonly duplicatesRefused: number
	readonly kills: readonly KillEntry[]
	readonly faults: Readonly<Faults>
	readonly left: number
	readonly dead: number
	/** Was every order that was committed received exactly once, and no other? */
	readonly balances: boolean
}

export function ledgerOf(books: Books): Ledger {
	const { database, relays, received, refused, refusedByKill, kills, rolledBack, faults, left, dead } = books
	const committed = new Set(books.committed)
	const timesOf = (order: string) => received.get(order) ?? 0
	const lost = [...committed].filter((order) => timesOf(order) === 0)
	const repeated = [...committed].filter((order) => timesOf(order) > 1)
	const phantom = [...received.keys()].filter((order) => !committed.has(order))
	return {
		...{ database, relays, committed: committed.size, lost, repeated, phantom, rolledBack },
		receivedOnce: committed.size - lost.length - repeated.length,
		duplicatesRefused: refused,
		kills: kills.map((kill) => {
			const { answered, unanswered } = refusedByKill.get(kill.relay) ?? { answered: 0, unanswered: 0 }
			return { ...kill, duplicatesRefused: answered + unanswered, ofThoseAnswered: answered }
		}),
		...{ faults, left, dead },
		// Of nothing, everything was received; but that would show nothing.
		balances:
			committed.size > 0 &&
			[lost, repeated, phantom].every(({ length }) => length === 0) &&
			left + dead === 0,
	}
}

export function ledgerText(ledger: Ledger, { style, columns }: Pick<CommandIo, 'style' | 'columns'>): string {
	const { faults, lost, repeated, phantom, left, dead } = ledger
	const wrong: readonly (readonly [string, number])[] = [
		['lost', lost.length],
		['taken twice', repeated.length],
		['received but never committed', phantom.length],
		['still in the queue', left],
		['dead letters', dead],
	]
	const others = ledger.kills.reduce(
		(left, { duplicatesRefused }) => left - duplicatesRefused,
		ledger.duplicatesRefused,
	)
	const rows: (readonly [string, string])[] = [
		['committed', `${ordersText(ledger.committed)}, each with its message in one transaction`],
		['received exactly once', formatNumber(ledger.receivedOnce)],
		['rolled back', `${ordersText(ledger.rolledBack)}, of which none may arrive`],
		['duplicates refused', formatNumber(ledger.duplicatesRefused)],
		...ledger.kills.map((kill) => [`  ${kill.relay}, killed`, killText(kill)] as const),
		...(others > 0
			? [
					[
						'  others',
						`${formatNumber(others)}; an answer came too late, or a lease ended on a busy machine`,
					] as const,
				]
			: []),
		[
			'failed on purpose',
			`${timesText(faults.serverErrors)} 500, ${timesText(faults.tooMany)} 429, ` +
				`${formatNumber(faults.hung)} hung, ${formatNumber(faults.outage)} in the outage`,
		],
		...wrong.filter(([, count]) => count > 0).map(([what, count]) => [what, formatNumber(count)] as const),
	]
	const verdict = ledger.balances
		? style.green('The ledger balances: committed = received exactly once.')
		: style.red('The ledger does not balance.')
	return [style.bold(`Ledger, ${ledger.database}`), ...formatPairs(rows, columns), verdict].join('\n')
}

/** What it had written down as sent is not sent again; what it had sent and not written down is, whether an answer had come or not. */
function killText({ duplicatesRefused, ofThoseAnswered }: KillEntry): string {
	const count = formatNumber(duplicatesRefused)
	if (duplicatesRefused === 0) return count
	const answered = ofThoseAnswered === duplicatesRefused ? 'all' : formatNumber(ofThoseAnswered)
	return `${count} that it had sent and not yet written down as sent; the receiver had answered ${answered} of them`
}

const ordersText = (count: number): string => `${formatNumber(count)} ${count === 1 ? 'order' : 'orders'}`

const timesText = (count: number): string => (count === 1 ? 'once' : `${formatNumber(count)} times`)
