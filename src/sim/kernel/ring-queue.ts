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
