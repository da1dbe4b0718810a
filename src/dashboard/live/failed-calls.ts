/** The last failed calls: a ring, so that its memory depends neither on the load nor on keys and sources. */
import { checkRange, invalidArgument } from '../../core/options/schema.ts'
import type { FailedCall, FailedCalls } from '../contract.ts'
import type { Query } from '../parts.ts'

const DEFAULT_MAX_FAILED_CALLS = 500

const PAGE_SIZE = 50

interface Entry<Taken> {
	readonly number: number
	readonly taken: Taken
	shown: FailedCall | undefined
}

export class FailedCallBuffer<Taken> {
	readonly #ring: Entry<Taken>[] = []
	readonly #size: number
	readonly #show: (taken: Taken) => Omit<FailedCall, 'number'>
	/** The number of all calls so far, and of the last one. */
	total = 0

	/** `show` is called when a viewer reads a call: most calls of an outage are forgotten before. */
	constructor(show: (taken: Taken) => Omit<FailedCall, 'number'>, size: number = DEFAULT_MAX_FAILED_CALLS) {
		checkRange('maxFailedCalls', size, 1, 100_000, 'integer')
		this.#size = size
		this.#show = show
	}

	add(taken: Taken): void {
		this.#ring[this.total % this.#size] = { number: ++this.total, taken, shown: undefined }
	}

	/** Yields the calls, newest first. */
	*newest(): Generator<FailedCall> {
		for (let at = this.total - 1; at >= this.total - this.#ring.length; at--) {
			const entry = this.#ring[at % this.#size]
			if (!entry) continue
			entry.shown ??= { number: entry.number, ...this.#show(entry.taken) }
			yield entry.shown
		}
	}

	/** Returns a page of the calls that the query selects. */
	page({ source, key, reason, before }: Query): FailedCalls {
		const limit = before === undefined ? Infinity : readNumber('before', before)
		const calls: FailedCall[] = []
		const sources = new Set<string>()
		const reasons = new Set<string>()
		let hasMore = false
		for (const call of this.newest()) {
			sources.add(call.source)
			reasons.add(call.reason)
			const isSelected =
				call.number < limit &&
				(source ?? call.source) === call.source &&
				(key ?? call.key) === call.key &&
				(reason ?? call.reason) === call.reason
			if (!isSelected) continue
			if (calls.length < PAGE_SIZE) calls.push(call)
			else hasMore = true
		}
		return {
			calls,
			forgotten: this.total - this.#ring.length,
			sources: [...sources].sort(),
			reasons: [...reasons].sort(),
			hasMore,
		}
	}
}

function readNumber(name: string, text: string): number {
	if (!/^\d{1,15}$/.test(text)) invalidArgument(name, text, 'the number of a call')
	return Number(text)
}
