/**
 * The queue of a server: one ring per priority, the highest first. Requests without a class have priority 0, and while all have the same
 * the queue is a single ring. A heap was rejected: it would need a sequence number per request to keep the order among equals.
 */

import { RingQueue } from '../kernel/ring-queue.ts'
import type { Request } from './request.ts'

interface Level {
	readonly priority: number
	readonly requests: RingQueue<Request>
}

export class RequestQueue {
	length = 0
	readonly #isLifo: boolean
	/** By priority, descending. */
	readonly #levels: Level[] = []

	/** `'fifo'` or `'lifo'` is the order among requests of the same priority. */
	constructor(order: 'fifo' | 'lifo') {
		this.#isLifo = order === 'lifo'
	}

	push(request: Request): void {
		const priority = request.requestClass?.priority ?? 0
		const level = this.#levels.find((known) => known.priority === priority) ?? this.#addLevel(priority)
		level.requests.push(request)
		this.length++
	}

	take(): Request | undefined {
		for (const { requests } of this.#levels)
			if (requests.length > 0) {
				this.length--
				return this.#isLifo ? requests.pop() : requests.shift()
			}
		return undefined
	}

	#addLevel(priority: number): Level {
		const level = { priority, requests: new RingQueue<Request>() }
		this.#levels.push(level)
		this.#levels.sort((a, b) => b.priority - a.priority)
		return level
	}
}
