/**
 * A bulkhead with lists and searches: slow, and simple enough to be obviously right. Callers are identified by
 * identity alone, so whatever a test uses as a caller will do.
 */
import type { WaiterState } from '../../../src/core/bulkhead/slots.ts'

export class BulkheadModel<C extends { readonly priority: number }> {
	maxConcurrent: number
	maxQueue: number
	/** Who holds a slot. */
	readonly inside = new Set<C>()
	/** Who waits, in the order of arrival. */
	readonly waiting: C[] = []

	constructor(maxConcurrent: number, maxQueue: number) {
		this.maxConcurrent = maxConcurrent
		this.maxQueue = maxQueue
	}

	placeOf(caller: C): WaiterState {
		if (this.inside.has(caller)) return 'inside'
		return this.waiting.includes(caller) ? 'queued' : 'outside'
	}

	arrive(caller: C): WaiterState {
		if (!this.waiting.length && this.inside.size < this.maxConcurrent) this.inside.add(caller)
		else if (this.waiting.length < this.maxQueue) this.waiting.push(caller)
		return this.placeOf(caller)
	}

	/** Gives up a slot or a place in the queue. Answers who got the slot. */
	leave(caller: C): C | undefined {
		if (this.inside.delete(caller)) return this.#letIn()[0]
		if (this.waiting.includes(caller)) this.waiting.splice(this.waiting.indexOf(caller), 1)
		return undefined
	}

	/** Answers who was let in by it. */
	resize(maxConcurrent: number, maxQueue: number): C[] {
		this.maxConcurrent = maxConcurrent
		this.maxQueue = maxQueue
		return this.#letIn()
	}

	#letIn(): C[] {
		const admitted: C[] = []
		while (this.inside.size < this.maxConcurrent && this.waiting.length) {
			const highest = Math.max(...this.waiting.map((caller) => caller.priority))
			const next = this.waiting.findIndex((caller) => caller.priority === highest)
			for (const caller of this.waiting.splice(next, 1)) {
				this.inside.add(caller)
				admitted.push(caller)
			}
		}
		return admitted
	}
}
