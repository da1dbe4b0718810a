/**
 * Scheduled events in a heap, ordered by (time, sequence). Events of the same time keep their insertion
 * order, so that every run is the same. A cancelled event stays in the heap and is skipped when its time
 * comes: most timers are cancelled late or never, and removing one from the middle would cost more.
 */
export interface ScheduledEvent {
	readonly at: number
	readonly sequence: number
	fire: (() => void) | undefined
}

/** Four children per node: half the levels of a binary heap, and the children are adjacent in memory. */
const CHILDREN = 4

export class EventHeap {
	readonly #heap: ScheduledEvent[] = []
	#sequence = 0

	add(at: number, fire: () => void): ScheduledEvent {
		const event: ScheduledEvent = { at, sequence: this.#sequence++, fire }
		const heap = this.#heap
		let index = heap.length
		heap.push(event)
		while (index > 0) {
			const parent = ((index - 1) / CHILDREN) | 0
			const above = heap[parent]
			// With equal times the new event stays behind, because its sequence is greater.
			if (above === undefined || above.at <= at) break
			heap[index] = above
			index = parent
		}
		heap[index] = event
		return event
	}

	/** Removes and returns the next event that is not cancelled, unless it is after `until`. */
	take(until: number = Infinity): ScheduledEvent | undefined {
		for (let first = this.#heap[0]; first && first.at <= until; first = this.#heap[0]) {
			this.#removeFirst()
			if (first.fire) return first
		}
		return undefined
	}

	/** True if an event is scheduled. Removes cancelled events from the front. */
	get hasNext(): boolean {
		for (let first = this.#heap[0]; first; first = this.#heap[0]) {
			if (first.fire) return true
			this.#removeFirst()
		}
		return false
	}

	/** The number of scheduled events. */
	get size(): number {
		return this.#heap.reduce((count, event) => (event.fire === undefined ? count : count + 1), 0)
	}

	#removeFirst(): void {
		const heap = this.#heap
		const last = heap.pop()
		const size = heap.length
		if (last === undefined || size === 0) return
		let index = 0
		for (let child = 1; child < size; child = index * CHILDREN + 1) {
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
			heap[index] = first
			index = firstAt
		}
		heap[index] = last
	}
}

const comesFirst = (a: ScheduledEvent, b: ScheduledEvent): boolean =>
	a.at < b.at || (a.at === b.at && a.sequence < b.sequence)
