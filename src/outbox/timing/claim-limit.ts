/**
 * Decides how many messages a claim may ask for. A claim that took too long is cancelled and would take as long again, so each cancelled one halves the
 * next, down to a single message, and each successful one doubles it until nothing is reduced.
 */
import type { ClaimTarget } from '../store/rows.ts'

export class ClaimLimit {
	#max = Infinity
	/** The target that a reduced claim starts with, so that the last ones get their turn. */
	#first = 0

	/** The maximum number of messages of the next claim; Infinity if it is not reduced. */
	get max(): number {
		return this.#max
	}

	recordTimeout(targets: readonly ClaimTarget[]): void {
		this.#max = Math.max(1, Math.floor(sizeOf(targets) / 2))
	}

	recordSuccess(wanted: readonly ClaimTarget[]): void {
		if (this.#max === Infinity) return
		this.#max *= 2
		if (this.#max >= sizeOf(wanted)) this.#max = Infinity
	}

	/** Divides the targets into those of the next claim and what is left for a later one. */
	divide(wanted: readonly ClaimTarget[]): { readonly now: ClaimTarget[]; readonly later: ClaimTarget[] } {
		const total = sizeOf(wanted)
		if (total <= this.#max) return { now: [...wanted], later: [] }
		const now: ClaimTarget[] = []
		const later: ClaimTarget[] = []
		let left = this.#max
		const start = this.#first++ % wanted.length
		for (const target of [...wanted.slice(start), ...wanted.slice(0, start)]) {
			const share = Math.max(1, Math.floor((target.limit * this.#max) / total))
			const limit = Math.min(left, share)
			left -= limit
			if (limit > 0) now.push(part(target, 0, limit))
			if (limit < target.limit) later.push(part(target, limit, target.limit))
		}
		return { now, later }
	}
}

const sizeOf = (targets: readonly ClaimTarget[]): number => targets.reduce((sum, { limit }) => sum + limit, 0)

const part = (target: ClaimTarget, from: number, to: number): ClaimTarget => ({
	...target,
	limit: to - from,
	...(target.keys && { keys: target.keys.slice(from, to) }),
})
