/**
 * What will happen, in order of (time, sequence): a heap. Events of the same time come out in the order in which they
 * were put in, so that a run is the same every time. A cancelled event stays until its time comes and is then passed
 * over: most timers are cancelled never or late, and taking one out of the middle would cost more.
 */
export interface ScheduledEvent {
	readonly at: number
	readonly sequence: number
	fire: (() => void) | undefined
}

/** Four children a parent: half the levels of two, and the children lie side by side in memory. */
const CHILDREN = 4

export class EventHeap {
	readonly #heap: ScheduledEvent[] = []
	#sequence = 0

	add(at: number, fire: () => void): ScheduledEvent {
		const event: ScheduledEvent = { at, sequence: this.#sequence++, fire }
		const heap = this.#heap
		let place = heap.length
		heap.push(event)
		while (place > 0) {
			const parent = ((place - 1) / CHILDREN) | 0
			const above = heap[parent]
			// Equal times keep their order, for the newcomer has the greater sequence.
			if (above === undefined || above.at <= at) break
			heap[place] = above
			place = parent
		}
		heap[place] = event
		return event
	}

	/** Takes the next event out that has not been cancelled, unless it comes after `until`. */
	take(until: number = Infinity): ScheduledEvent | undefined {
		for (let first = this.#heap[0]; first && first.at <= until; first = this.#heap[0]) {
			this.#removeFirst()
			if (first.fire) return first
		}
		return undefined
	}

	/** Is one still to come? Takes out those that were cancelled, as far as they are in front. */
	get hasNext(): boolean {
		for (let first = this.#heap[0]; first; first = this.#heap[0]) {
			if (first.fire) return true
			this.#removeFirst()
		}
		return false
	}

	/** How many events are still to come. */
	get size(): number {
		return this.#heap.reduce((count, event) => (event.fire === undefined ? count : count + 1), 0)
	}

	#removeFirst(): void {
		const heap = this.#heap
		const last = heap.pop()
		const size = heap.length
		if (last === undefined || size === 0) return
		let place = 0
		for (let child = 1; child < size; child = place * CHILDREN + 1) {
			const end = Math.min(child + CHILDREN, size)
			let first = heap[child]
			let firstAt = child
			for (let other = child + 1; other < end; other++) {
				const sibling = heap[other]
				if (first && sibling && comesFirst(sibling, first)) {
					first = sibling
					firstAt = other
				}
			}
			if (first === undefined || comesFirst(last, first)) break
			heap[place] = first
			place = firstAt
		}
		heap[place] = last
	}
}

const comesFirst = (a: ScheduledEvent, b: ScheduledEvent): boolean =>
	a.at < b.at || (a.at === b.at && a.sequence < b.sequence)
