/**
 * The last failed calls: two rings, so that their memory depends neither on the load nor on keys and sources. An open circuit rejects
 * thousands of calls a second: in one ring, they would displace the failures that say why it opened.
 */
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

/** How a call is shown. All calls of the list are searched for each page, so what a search needs is apart. */
export interface ShownParts<Taken> {
	source(taken: Taken): string
	key(taken: Taken): string | null
	reason(taken: Taken): string
	/** Expensive: the explanation of the call. */
	call(taken: Taken): Omit<FailedCall, 'number'>
}

/** The last elements, as many as its size. */
class Ring<Element> {
	readonly #elements: Element[] = []
	readonly #size: number
	#added = 0

	constructor(size: number) {
		this.#size = size
	}

	/** How many elements it no longer has. */
	get leftOut(): number {
		return this.#added - this.#elements.length
	}

	add(element: Element): void {
		this.#elements[this.#added++ % this.#size] = element
	}

	*newest(): Generator<Element> {
		for (let at = this.#added - 1; at >= this.leftOut; at--) {
			const element = this.#elements[at % this.#size]
			if (element) yield element
		}
	}
}

export class FailedCallBuffer<Taken> {
	readonly #failures: Ring<Entry<Taken>>
	/** Calls that policies rejected without running the operation. */
	readonly #rejections: Ring<Entry<Taken>>
	readonly #show: ShownParts<Taken>
	/** The number of all calls so far, and of the last one. */
	total = 0

	/** A call is explained when a viewer reads it: most calls of an outage are forgotten before. */
	constructor(show: ShownParts<Taken>, size: number = DEFAULT_MAX_FAILED_CALLS) {
		checkRange('maxFailedCalls', size, 1, 100_000, 'integer')
		this.#failures = new Ring(size)
		this.#rejections = new Ring(size)
		this.#show = show
	}

	add(taken: Taken, isRejection: boolean): void {
		const ring = isRejection ? this.#rejections : this.#failures
		ring.add({ number: ++this.total, taken, shown: undefined })
	}

	/** Yields the calls that no policy rejected, newest first, each with a function that returns its error as it is shown. */
	*failures(): Generator<readonly [taken: Taken, error: () => string]> {
		for (const entry of this.#failures.newest()) yield [entry.taken, () => this.#shown(entry).error]
	}

	/** Returns a page of the calls that the query selects. */
	page({ source, key, reason, before }: Query): FailedCalls {
		const limit = before === undefined ? Infinity : readNumber('before', before)
		const calls: FailedCall[] = []
		const sources = new Set<string>()
		const reasons = new Set<string>()
		let hasMore = false
		for (const entry of this.#newest()) {
			const [ownSource, ownReason] = [this.#show.source(entry.taken), this.#show.reason(entry.taken)]
			sources.add(ownSource)
			reasons.add(ownReason)
			const isSelected =
				entry.number < limit &&
				(source ?? ownSource) === ownSource &&
				(reason ?? ownReason) === ownReason &&
				(key === undefined || this.#show.key(entry.taken) === key)
			if (!isSelected) continue
			if (calls.length < PAGE_SIZE) calls.push(this.#shown(entry))
			else hasMore = true
		}
		return {
			calls,
			leftOut: { failures: this.#failures.leftOut, rejections: this.#rejections.leftOut },
			sources: [...sources].sort(),
			reasons: [...reasons].sort(),
			hasMore,
		}
	}

	/** Both rings in the order of time, which the numbers have. */
	#newest(): Entry<Taken>[] {
		return [...this.#failures.newest(), ...this.#rejections.newest()].sort((a, b) => b.number - a.number)
	}

	#shown(entry: Entry<Taken>): FailedCall {
		entry.shown ??= { number: entry.number, ...this.#show.call(entry.taken) }
		return entry.shown
	}
}

function readNumber(name: string, text: string): number {
	if (!/^\d{1,15}$/.test(text)) invalidArgument(name, text, 'the number of a call')
	return Number(text)
}
