/**
 * The queue of a server: one ring per priority, the highest first. Requests without a class have priority 0,
 * and while all have the same the queue is a single ring. A heap was rejected: it would need a sequence
 * number per request to keep the order among equals.
 */
import type { Request } from './request.ts'

interface Level {
	readonly priority: number
	readonly requests: RingQueue<Request>
}

export class RequestQueue {
	length = 0
	readonly #isLifo: boolean
	/** The requests of priority 0, which all have without classes. */
	readonly #normal = new RingQueue<Request>()
	/** The queue of each priority, in descending order; undefined while all requests have priority 0. */
	#levels: Level[] | undefined

	/** `'fifo'` or `'lifo'` is the order among requests of the same priority. */
	constructor(order: 'fifo' | 'lifo') {
		this.#isLifo = order === 'lifo'
	}

	push(request: Request): void {
		const priority = request.requestClass === undefined ? 0 : request.requestClass.priority
		if (priority === 0) this.#normal.push(request)
		else this.#levelOf(priority).requests.push(request)
		this.length++
	}

	take(): Request | undefined {
		if (this.length === 0) return undefined
		this.length--
		const requests = this.#levels === undefined ? this.#normal : firstFilled(this.#levels)
		return this.#isLifo ? requests.pop() : requests.shift()
	}

	#levelOf(priority: number): Level {
		this.#levels ??= [{ priority: 0, requests: this.#normal }]
		const known = this.#levels.find((level) => level.priority === priority)
		if (known) return known
		const added = { priority, requests: new RingQueue<Request>() }
		this.#levels.push(added)
		this.#levels.sort((a, b) => b.priority - a.priority)
		return added
	}
}

/** The queue is not empty, so one of them is filled. */
const firstFilled = (levels: readonly Level[]): RingQueue<Request> =>
	(levels.find(({ requests }) => requests.length > 0) as Level).requests

/** A growing ring buffer. `Array.shift` on a long queue would move every other element. */
export class RingQueue<T> {
	#ring: (T | undefined)[] = new Array<T | undefined>(16).fill(undefined)
	#first = 0
	length = 0

	push(item: T): void {
		if (this.length === this.#ring.length) this.#grow()
		this.#ring[(this.#first + this.length++) & (this.#ring.length - 1)] = item
	}

	shift(): T | undefined {
		if (this.length === 0) return undefined
		const item = this.#ring[this.#first]
		this.#ring[this.#first] = undefined
		this.#first = (this.#first + 1) & (this.#ring.length - 1)
		this.length--
		return item
	}

	pop(): T | undefined {
		if (this.length === 0) return undefined
		const index = (this.#first + --this.length) & (this.#ring.length - 1)
		const item = this.#ring[index]
		this.#ring[index] = undefined
		return item
	}

	#grow(): void {
		const { length } = this.#ring
		const ring = new Array<T | undefined>(length * 2).fill(undefined)
		for (let index = 0; index < length; index++)
			ring[index] = this.#ring[(this.#first + index) & (length - 1)]
		this.#ring = ring
		this.#first = 0
	}
}
