/**
 * Who may work at once and who waits, as a state machine that wakes nobody itself. A slot that becomes free is handed to
 * the next in line in the same step, before anyone hears of it, so there is never a free slot beside a queue: a newcomer
 * has only one number to look at, and can overtake no one. (Counting the slot as free until the woken caller runs is the
 * usual way, and lets whoever calls in between take it.)
 */
import { type Link, LinkedList } from '../structures/linked-list.ts'

export type WaiterState = 'outside' | 'queued' | 'inside'

/** One call as the bulkhead sees it. Starts `'outside'`; only `Slots` changes its place and its links. */
export interface Waiter<W> extends Link<W> {
	/** Higher goes first. Must not change while it waits. */
	readonly priority: number
	state: WaiterState
}

export class Slots<W extends Waiter<W>> {
	readonly #queue = new LinkedList<W>()
	#maxConcurrent: number
	#maxQueue: number
	#concurrent = 0
	#queued = 0

	constructor(maxConcurrent: number, maxQueue: number) {
		this.#maxConcurrent = maxConcurrent
		this.#maxQueue = maxQueue
	}

	/** How many hold a slot. More than there are slots only after `resize` took some away. */
	get concurrent(): number {
		return this.#concurrent
	}

	get queued(): number {
		return this.#queued
	}

	/** Takes a slot, if one is free. Who gets it this way needs no waiter, and gives it back by `exit`. */
	enter(): boolean {
		const isFree = this.#concurrent < this.#maxConcurrent
		if (isFree) this.#concurrent++
		return isFree
	}

	/** Gives a slot back. Answers who holds it now and has to be woken, if anyone. */
	exit(): W | undefined {
		this.#concurrent--
		return this.#admit()
	}

	/** Takes a slot, or a place in the queue, or neither where both are full. Answers which. */
	arrive(waiter: W): WaiterState {
		if (this.enter()) waiter.state = 'inside'
		else if (this.#queued < this.#maxQueue) {
			let { last } = this.#queue
			while (last && last.priority < waiter.priority) last = last.before
			this.#queue.insert(waiter, last)
			this.#queued++
			waiter.state = 'queued'
		}
		return waiter.state
	}

	/**
	 * Gives up whatever it has, for whatever reason. Answers who holds its slot now and has to be woken, if anyone.
	 *
	 * One method for queue and slot, and none the second time: an abort may come after the slot was handed over and before
	 * its new owner ran, and work may settle after its slot was given up for lost. Two methods would leak a slot in the one
	 * case and free one twice in the other.
	 */
	leave(waiter: W): W | undefined {
		const { state } = waiter
		waiter.state = 'outside'
		if (state === 'inside') return this.exit()
		if (state === 'queued') this.#dequeue(waiter)
		return undefined
	}

	/** Other limits from now on. Answers who was let in by them and has to be woken. Whoever is inside or queued stays so. */
	resize(maxConcurrent: number, maxQueue: number): readonly W[] {
		this.#maxConcurrent = maxConcurrent
		this.#maxQueue = maxQueue
		const admitted: W[] = []
		for (let next = this.#admit(); next; next = this.#admit()) admitted.push(next)
		return admitted
	}

	#admit(): W | undefined {
		const { first } = this.#queue
		if (!first || this.#concurrent >= this.#maxConcurrent) return undefined
		this.#dequeue(first)
		this.#concurrent++
		first.state = 'inside'
		return first
	}

	#dequeue(waiter: W): void {
		this.#queue.remove(waiter)
		this.#queued--
	}
}
