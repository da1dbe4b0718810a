/**
 * Which calls hold a slot and which are queued, as a state machine that wakes no call itself. A slot that
 * becomes free goes to the next call in the queue in the same step, so there is never a free slot beside a
 * queue: a newcomer checks only one number, and cannot overtake a queued call. (The usual alternative counts
 * the slot as free until the woken caller runs, and lets a newcomer take it in between.)
 */
import { type Link, LinkedList } from '../structures/linked-list.ts'

export type WaiterState = 'outside' | 'queued' | 'inside'

/** One call as the bulkhead sees it. It starts `'outside'`; only `Slots` changes its state and its links. */
export interface Waiter<W> extends Link<W> {
	/** Higher goes first. Must not change while the call is queued. */
	readonly priority: number
	state: WaiterState
}

/** The queue is the list itself: with a bulkhead per tenant, one object less for each. */
export class Slots<W extends Waiter<W>> extends LinkedList<W> {
	#maxConcurrent: number
	#maxQueue: number
	/** The number of held slots. Above the limit only after `resize` lowered it. Only `Slots` changes it. */
	concurrent = 0
	queued = 0

	constructor(maxConcurrent: number, maxQueue: number) {
		super()
		this.#maxConcurrent = maxConcurrent
		this.#maxQueue = maxQueue
	}

	/** Takes a slot if one is free. A call that gets it this way needs no waiter and frees it with `exit`. */
	enter(): boolean {
		const isFree = this.concurrent < this.#maxConcurrent
		if (isFree) this.concurrent++
		return isFree
	}

	/** Frees a slot. Returns the call that holds it now and must be woken, if any. */
	exit(): W | undefined {
		this.concurrent--
		return this.#admit()
	}

	/** Takes a slot or joins the queue, unless both are full. Returns the new state. */
	arrive(waiter: W): WaiterState {
		if (this.enter()) waiter.state = 'inside'
		else if (this.queued < this.#maxQueue) {
			let { last } = this
			while (last && last.priority < waiter.priority) last = last.previous
			this.insert(waiter, last)
			this.queued++
			waiter.state = 'queued'
		}
		return waiter.state
	}

	/**
	 * Leaves the queue or frees the slot. Returns the call that holds the slot now and must be woken, if any.
	 *
	 * One method for both, which does nothing the second time: an abort may come after the slot was handed over
	 * and before its new owner runs, and an operation may settle after its slot was reclaimed. Two methods
	 * would leak a slot in the first case and free one twice in the second.
	 */
	leave(waiter: W): W | undefined {
		const { state } = waiter
		waiter.state = 'outside'
		if (state === 'inside') return this.exit()
		if (state === 'queued') this.#dequeue(waiter)
		return undefined
	}

	/**
	 * Changes the limits. Returns the calls that got a slot through them and must be woken. Running and queued
	 * calls stay.
	 */
	resize(maxConcurrent: number, maxQueue: number): readonly W[] {
		this.#maxConcurrent = maxConcurrent
		this.#maxQueue = maxQueue
		const admitted: W[] = []
		for (let next = this.#admit(); next; next = this.#admit()) admitted.push(next)
		return admitted
	}

	#admit(): W | undefined {
		const { first } = this
		if (!first || this.concurrent >= this.#maxConcurrent) return undefined
		this.#dequeue(first)
		this.concurrent++
		first.state = 'inside'
		return first
	}

	#dequeue(waiter: W): void {
		this.remove(waiter)
		this.queued--
	}
}
