/** Checks a round against what the outbox promises: nothing lost, nothing stuck, keys in order, and no duplicate without a lost lease. */
import type { Receipt } from './receiver.ts'
import type { Takeover } from './takeovers.ts'

export interface Round {
	readonly name: string
	readonly enqueued: readonly { readonly id: string; readonly key: string; readonly number: number }[]
	/** Everything that the receiver accepted during this round, including late duplicates of earlier rounds. */
	readonly receipts: readonly Receipt[]
	/** Every lease of these messages that expired before the ack, as the database recorded it. */
	readonly takeovers: readonly Takeover[]
	/** Dead letters whose lease expired as often as `maxCrashes` allows. They need not arrive. */
	readonly poison: readonly string[]
	/** Process ids of all relays killed so far. */
	readonly killed: ReadonlySet<number>
	/** Messages that are still in the outbox. */
	readonly left: readonly string[]
}

/** Duplicates that an expired lease explains, by what happened to the relay that held it. */
export interface Duplicates {
	afterKill: number
	afterLostLease: number
}

/**
 * Returns whether the claim that sent this receipt lost its lease: another claim took the message over before the ack. Only then may the
 * message be sent again. An attempt number names one claim that sends, because a claim that is released unsent returns its number.
 */
function lostLease({ id, attempt }: Receipt, takeovers: readonly Takeover[]): boolean {
	return takeovers.some((takeover) => takeover.id === id && takeover.attempt === attempt)
}

/** Counts the receipts whose message was sent again because the lease of their claim expired. */
export function countDuplicates({ receipts, takeovers, killed }: Round): Duplicates {
	const counts = { afterKill: 0, afterLostLease: 0 }
	for (const receipt of receipts) {
		const isRepeated = receipts.some((other) => other !== receipt && other.id === receipt.id)
		if (!isRepeated || !lostLease(receipt, takeovers)) continue
		if (killed.has(receipt.relay)) counts.afterKill++
		else counts.afterLostLease++
	}
	return counts
}

/** Returns one sentence for each broken promise. */
export function findFaults(round: Round): string[] {
	const { name, enqueued, receipts, takeovers, poison, left } = round
	const received = new Set(receipts.map(({ id }) => id))
	const lost = enqueued
		.filter(({ id }) => !received.has(id) && !poison.includes(id))
		.map(({ id }) => `${id} was lost`)
	const early = takeovers
		.filter(({ leaseUntil, claimedAt }) => claimedAt < leaseUntil)
		.map(({ id, attempt, leaseUntil, claimedAt }) => {
			return `${id} was claimed again ${leaseUntil - claimedAt} ms before the lease of attempt ${attempt} expired`
		})
	const duplicates = [...received].flatMap((id) => unexplainedDuplicate(id, round))
	const order = [...new Set(enqueued.map(({ key }) => key))].flatMap((key) => outOfOrder(key, round))
	const faults = [...lost, ...early, ...duplicates, ...order, ...left.map((message) => `${message} is stuck`)]
	return faults.map((fault) => `round ${name}: ${fault}`)
}

/** A claim sends at most once, and only one claim of a message may keep its lease until the ack. */
function unexplainedDuplicate(id: string, { receipts, takeovers }: Round): string[] {
	const own = receipts.filter((receipt) => receipt.id === id)
	const attempts = new Set(own.map(({ attempt }) => attempt))
	const withLease = own.filter((receipt) => !lostLease(receipt, takeovers))
	if (attempts.size === own.length && withLease.length <= 1) return []
	const sends = own.map(
		(receipt) =>
			`attempt ${receipt.attempt} by ${receipt.relay}${lostLease(receipt, takeovers) ? ' (lease expired)' : ''}`,
	)
	return [`${id} was sent ${own.length} times without a lost lease: ${sends.join(', ')}`]
}

/**
 * The order of a key. A duplicate may arrive late only if its claim had lost its lease by then: that request was already on its way when
 * another relay took over.
 */
function outOfOrder(key: string, { receipts, takeovers }: Round): string[] {
	const seen = new Set<string>()
	const numbers: number[] = []
	for (const receipt of receipts) {
		if (receipt.key !== key) continue
		if (!seen.has(receipt.id) || !lostLease(receipt, takeovers)) numbers.push(receipt.number)
		seen.add(receipt.id)
	}
	const isOrdered = numbers.every((number, at) => at === 0 || number >= (numbers[at - 1] ?? 0))
	return isOrdered ? [] : [`${key} was delivered out of order: ${numbers.join(', ')}`]
}
