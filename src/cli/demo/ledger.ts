/**
 * The ledger at the end of the demo. Committed orders are read from the database and received orders from the
 * receiver, and both are compared by id: equal sums prove nothing.
 */
import { formatCount, formatNumber } from '../../text/format.ts'
import { formatPairs } from '../../text/table.ts'
import type { CommandIo } from '../io.ts'
import { type Faults, formatFaults, type KillDuplicates } from './receiver.ts'

export interface Kill {
	readonly relay: string
	/** The number of its requests that the receiver had accepted but not answered. */
	readonly unanswered: number
}

export interface LedgerInput {
	readonly database: string
	/** `sent` is the last count that the process reported. */
	readonly relays: readonly {
		readonly name: string
		readonly pid: number | undefined
		readonly sent: number
	}[]
	readonly committed: readonly string[]
	readonly rolledBack: number
	/** The orders whose dead letters a user has discarded. */
	readonly discarded: readonly string[]
	/** The number of times that the receiver accepted each order. */
	readonly received: ReadonlyMap<string, number>
	readonly faults: Readonly<Faults>
	readonly duplicates: number
	/** Duplicates caused by a kill, by the killed relay. */
	readonly duplicatesByKill: ReadonlyMap<string, KillDuplicates>
	readonly kills: readonly Kill[]
	/** Messages that are still in the queue. */
	readonly left: number
	readonly dead: number
}

export type Ledger = ReturnType<typeof createLedger>

/** Returns the ledger. It balances if every committed order was received exactly once or discarded by a user, and no other order was received. */
export function createLedger(input: LedgerInput) {
	const { committed: ids, received, duplicates, duplicatesByKill, kills, ...base } = input
	const dropped = new Set(base.discarded)
	const committed = new Set(ids)
	const countOf = (order: string) => received.get(order) ?? 0
	const missing = ids.filter((order) => countOf(order) === 0)
	const discarded = missing.filter((order) => dropped.has(order))
	const lost = missing.filter((order) => !dropped.has(order))
	const repeated = ids.filter((order) => countOf(order) > 1)
	const phantom = [...received.keys()].filter((order) => !committed.has(order))
	const problems = lost.length + repeated.length + phantom.length + base.left + base.dead
	return {
		...base,
		committed: committed.size,
		discarded,
		lost,
		repeated,
		phantom,
		duplicatesRejected: duplicates,
		receivedOnce: committed.size - missing.length - repeated.length,
		kills: kills.map((kill) => {
			const { answered, unanswered } = duplicatesByKill.get(kill.relay) ?? { answered: 0, unanswered: 0 }
			return { ...kill, duplicatesRejected: answered + unanswered, duplicatesAnswered: answered }
		}),
		// A demo without orders would prove nothing.
		balances: committed.size > 0 && problems === 0,
	}
}

type Format = Pick<CommandIo, 'style' | 'columns'>

export function renderLedger(ledger: Ledger, { style, columns }: Format): string {
	const { faults, discarded, lost, repeated, phantom, left, dead, kills, duplicatesRejected } = ledger
	const problems = {
		lost: lost.length,
		'received twice': repeated.length,
		'received but not committed': phantom.length,
		'still in the queue': left,
		'dead letters': dead,
	}
	const otherDuplicates = kills.reduce((rest, kill) => rest - kill.duplicatesRejected, duplicatesRejected)
	const rows: (readonly [string, string])[] = [
		['committed', `${formatCount(ledger.committed, 'order')}, each with its message in one transaction`],
		['received exactly once', formatNumber(ledger.receivedOnce)],
		['rolled back', `${formatCount(ledger.rolledBack, 'order')}, none of which may arrive`],
		...(discarded.length > 0
			? [['discarded on the dashboard', formatNumber(discarded.length)] as const]
			: []),
		['duplicates rejected', formatNumber(duplicatesRejected)],
		...kills.map((kill) => [`  ${kill.relay}, killed`, describeKill(kill)] as const),
	]
	if (otherDuplicates > 0)
		rows.push([
			'  others',
			`${formatNumber(otherDuplicates)}, after a late response or an expired lease on a busy machine`,
		])
	rows.push(['injected faults', formatFaults(faults)])
	for (const [problem, count] of Object.entries(problems))
		if (count > 0) rows.push([problem, formatNumber(count)])
	const conclusion = ledger.balances
		? style.green(
				`The ledger balances: committed = received exactly once${discarded.length > 0 ? ' + discarded' : ''}.`,
			)
		: style.red('The ledger does not balance.')
	return [style.bold(`Ledger, ${ledger.database}`), ...formatPairs(rows, columns), conclusion].join('\n')
}

/** A relay sends a message again unless it has acked it, even if the receiver had responded. */
function describeKill({ duplicatesRejected, duplicatesAnswered }: Ledger['kills'][number]): string {
	const count = formatNumber(duplicatesRejected)
	if (duplicatesRejected === 0) return count
	const answered = duplicatesAnswered === duplicatesRejected ? 'all' : formatNumber(duplicatesAnswered)
	return `${count} sent but not yet acked; the receiver had responded to ${answered} of them`
}
