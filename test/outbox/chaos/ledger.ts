/** What must hold after a round, as a list of what does not. */
import type { Receipt } from './receiver.ts'

export interface Round {
	readonly seed: string
	readonly enqueued: readonly { readonly id: string; readonly key: string; readonly number: number }[]
	readonly receipts: readonly Receipt[]
	/** Processes that were killed, in this round or before. */
	readonly killed: ReadonlySet<number>
	/** Messages whose lease a living relay could not keep: it told so. */
	readonly lost: ReadonlySet<string>
	/** Was the database away for longer than a lease? Then whatever was under way may be sent once more. */
	readonly isRestarted: boolean
	/** What is left in the outbox. */
	readonly left: number
}

/** How often messages were sent beyond once. */
export const repeatsOf = ({ receipts, enqueued }: Round): number => receipts.length - enqueued.length

export function faultsOf(round: Round): string[] {
	const { enqueued, receipts, left } = round
	const faults: string[] = []
	for (const { id } of enqueued) {
		const own = receipts.filter((receipt) => receipt.id === id)
		if (own.length === 0) faults.push(`${id} was lost`)
		faults.push(...tooMany(id, own, round))
	}
	for (const key of new Set(enqueued.map((one) => one.key))) {
		const numbers = receipts.filter((receipt) => receipt.key === key).map(({ number }) => number)
		if (numbers.some((number, at) => number < (numbers[at - 1] ?? 0)))
			faults.push(`${key} came out of order: ${numbers}`)
	}
	if (left > 0) faults.push(`${left} are stuck`)
	return faults.map((fault) => `round ${round.seed}: ${fault}`)
}

/** Each relay that was killed may have sent it once without being able to say so; of those that live only the last. */
function tooMany(id: string, own: readonly Receipt[], { killed, lost, isRestarted }: Round): string[] {
	const byLiving = own.filter(({ relay }) => !killed.has(relay)).length
	const relays = new Set(own.map(({ relay }) => relay))
	const excused = isRestarted || lost.has(id)
	if (excused || (own.length === relays.size && byLiving <= 1)) return []
	return [`${id} was sent ${own.length} times, by ${own.map(({ relay }) => relay)}`]
}
