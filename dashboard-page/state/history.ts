/** The series that the page collects from the stream. The server keeps none. */
import type { Overview } from '../../src/dashboard/contract.ts'

/** At one overview in two seconds: 20 minutes. */
const MAX_POINTS = 600

/** Columns of the same length, oldest first. */
interface History {
	readonly at: readonly number[]
	readonly throughput: readonly number[]
	readonly due: readonly number[]
	readonly dead: readonly number[]
}

const EMPTY: History = { at: [], throughput: [], due: [], dead: [] }

export type Histories = Readonly<Record<string, History>>

/** A clock that was set back further begins the series anew, because their times must ascend. */
const SET_BACK_SECONDS = 60

/** Returns the series with one more point for each outbox. An overview that is not newer changes nothing. */
export function addOverview(histories: Histories, overview: Overview): Histories {
	const seconds = overview.at / 1000
	return Object.fromEntries(
		overview.outboxes.map((outbox) => {
			const known = histories[outbox.source] ?? EMPTY
			const before = (known.at.at(-1) ?? 0) > seconds + SET_BACK_SECONDS ? EMPTY : known
			if ((before.at.at(-1) ?? -1) >= seconds) return [outbox.source, before]
			const { due, dead } = outbox.totals
			return [
				outbox.source,
				{
					at: added(before.at, seconds),
					throughput: added(before.throughput, outbox.throughput),
					due: added(before.due, due.count),
					dead: added(before.dead, dead.count),
				},
			]
		}),
	)
}

const added = (values: readonly number[], value: number): number[] => [...values.slice(1 - MAX_POINTS), value]
