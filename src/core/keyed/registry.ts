/**
 * One value per key, for any number of keys in bounded memory. Only idle entries are in the eviction list, in the
 * order in which they were released: the entry to evict is always the first, and nothing is searched, sorted or
 * timed. (A Map in order of use needs no list, but then every eviction has to step over long-running calls at its
 * front.)
 */
import { type Link, LinkedList } from '../structures/linked-list.ts'

export interface Entry<V> extends Link<Entry<V>> {
	readonly key: string
	readonly value: V
	/** The number of current users. */
	uses: number
	/** When it was last released or, while in use, when that use began. */
	usedAt: number
}

export class Registry<V> {
	readonly #entries = new Map<string, Entry<V>>()
	readonly #idle = new LinkedList<Entry<V>>()
	#maxKeys: number
	#idleMs: number

	constructor(maxKeys: number, idleMs: number) {
		this.#maxKeys = maxKeys
		this.#idleMs = idleMs
	}

	/** Above `maxKeys` only while entries are in use. Idle entries count until the next access finds them expired. */
	get size(): number {
		return this.#entries.size
	}

	/**
	 * Returns the entry of a key, creating it if needed, and keeps it until `release`. Every `acquire` needs exactly
	 * one `release`.
	 */
	acquire(key: string, now: number, make: (key: string) => V): Entry<V> {
		this.#evict(now)
		const value = this.#entries.has(key) ? undefined : make(key)
		// Looked up after creation, because `make` may have asked for the same key.
		let entry = this.#entries.get(key)
		if (entry) {
			if (!entry.uses++) this.#idle.remove(entry)
		} else {
			entry = { key, value: value as V, uses: 1, usedAt: now, before: undefined, after: undefined }
			this.#entries.set(key, entry)
			this.#evict(now)
		}
		return entry
	}

	/** Undoes one `acquire`. */
	release(entry: Entry<V>, now: number): void {
		if (--entry.uses) return
		entry.usedAt = now
		this.#idle.insert(entry, this.#idle.last)
		this.#evict(now)
	}

	/** Returns the value of a key, creating it if needed, without keeping it in use. */
	get(key: string, now: number, make: (key: string) => V): V {
		const entry = this.acquire(key, now, make)
		this.release(entry, now)
		return entry.value
	}

	/** Returns the value of a key, if there is one. Does not count as a use. */
	find(key: string): V | undefined {
		return this.#entries.get(key)?.value
	}

	/** Deletes a key, even one in use: current users keep the entry, and the next `acquire` creates a new one. */
	delete(key: string): boolean {
		const entry = this.#entries.get(key)
		if (!entry) return false
		if (!entry.uses) this.#idle.remove(entry)
		// Its users will still release it, which must not put it back into the eviction list.
		entry.uses = Infinity
		return this.#entries.delete(key)
	}

	/** Changes the bounds. Entries that are too old are evicted at the next access, which knows the time. */
	resize(maxKeys: number, idleMs: number): void {
		this.#maxKeys = maxKeys
		this.#idleMs = idleMs
		this.#evict(-Infinity)
	}

	keys(): MapIterator<string> {
		return this.#entries.keys()
	}

	/** In order of creation. */
	entries(): MapIterator<Readonly<Entry<V>>> {
		return this.#entries.values()
	}

	#evict(now: number): void {
		const idle = this.#idle
		while (idle.first && (this.size > this.#maxKeys || now - idle.first.usedAt >= this.#idleMs))
			this.delete(idle.first.key)
	}
}
