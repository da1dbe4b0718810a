/**
 * What will happen, in order of (time, sequence): a binary heap. Events of the same time come out in the order in which they
 * were put in, so that a run is the same every time. A cancelled event stays until its time comes and is then passed
 * over: most timers are cancelled never or late, and taking one out of the middle would cost more.
 */
export interface ScheduledEvent {
	readonly at: number
	readonly sequence: number
	fire: (() => void) | undefined
}

export class EventHeap {
	readonly #heap: ScheduledEvent[] = []
	#sequence = 0

	add(at: number, fire: () => void): ScheduledEvent {
		const event: ScheduledEvent = { at, sequence: this.#sequence++, fire }
		const heap = this.#heap
		let place = heap.length
		heap.push(event)
		while (place > 0) {
			const parent = (place - 1) >> 1
			const above = heap[parent]
			if (above === undefined || comesFirst(above, event)) break
			heap[place] = above
			place = parent
		}
		heap[place] = event
		return event
	}

	/** The next event that has not been cancelled. */
	peek(): ScheduledEvent | undefined {
		while (this.#heap[0] !== undefined && this.#heap[0].fire === undefined) this.#removeFirst()
		return this.#heap[0]
	}

	take(): ScheduledEvent | undefined {
		const event = this.peek()
		if (event !== undefined) this.#removeFirst()
		return event
	}

	/** How many events are still to come. */
	get size(): number {
		return this.#heap.reduce((count, event) => (event.fire === undefined ? count : count + 1), 0)
	}

	#removeFirst(): void {
		const heap = this.#heap
		const last = heap.pop()
		if (last === undefined || heap.length === 0) return
		let place = 0
		for (;;) {
			let child = 2 * place + 1
			let below = heap[child]
			const sibling = heap[child + 1]
			if (below !== undefined && sibling !== undefined && comesFirst(sibling, below)) {
				below = sibling
				child++
			}
			if (below === undefined || comesFirst(last, below)) break
			heap[place] = below
			place = child
		}
		heap[place] = last
	}
}

const comesFirst = (a: ScheduledEvent, b: ScheduledEvent): boolean =>
	a.at < b.at || (a.at === b.at && a.sequence < b.sequence)
