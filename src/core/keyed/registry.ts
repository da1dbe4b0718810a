/**
 * One value per key, for any number of keys in bounded memory. Only entries that nobody uses stand in the line from which
 * evictions are made, in the order in which they were let go: so the one to evict is always the first, and nothing is
 * searched, sorted or timed. (A Map kept in order of use needs no line, but then a few long calls at its front have to be
 * stepped over by every eviction.)
 */
import { type Link, LinkedList } from '../structures/linked-list.ts'

export interface Entry<V> extends Link<Entry<V>> {
	readonly key: string
	readonly value: V
	/** How many hold it now. */
	uses: number
	/** When it was last let go; of one in use, when that began. */
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

	/** More than `maxKeys` only while they are in use. Idle ones count until the next access finds them too old. */
	get size(): number {
		return this.#entries.size
	}

	/** The key's entry, made if there is none, kept until its `release`. Every hold needs exactly one. */
	acquire(key: string, now: number, make: (key: string) => V): Entry<V> {
		this.#evict(now)
		const value = this.#entries.has(key) ? undefined : make(key)
		// Looked up after it was made, for making it may have asked for the same key.
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

	/** Undoes one `hold`. */
	release(entry: Entry<V>, now: number): void {
		if (--entry.uses) return
		entry.usedAt = now
		this.#idle.insert(entry, this.#idle.last)
		this.#evict(now)
	}

	/** The key's value, made if there is none, used for no longer than this. */
	get(key: string, now: number, make: (key: string) => V): V {
		const entry = this.acquire(key, now, make)
		this.release(entry, now)
		return entry.value
	}

	/** The key's value, if there is one. Looking is no use: it goes no later for it. */
	find(key: string): V | undefined {
		return this.#entries.get(key)?.value
	}

	/** Forgets a key, even one in use: who holds the entry keeps it, and the next one to ask gets a new one. */
	delete(key: string): boolean {
		const entry = this.#entries.get(key)
		if (!entry) return false
		if (!entry.uses) this.#idle.remove(entry)
		// Its holders will still release it, which must not put it back in line.
		entry.uses = Infinity
		return this.#entries.delete(key)
	}

	/** Other bounds from now on. Who is too old by them goes with the next access, which knows the time. */
	resize(maxKeys: number, idleMs: number): void {
		this.#maxKeys = maxKeys
		this.#idleMs = idleMs
		this.#evict(-Infinity)
	}

	keys(): MapIterator<string> {
		return this.#entries.keys()
	}

	/** In the order in which they were made. */
	entries(): MapIterator<Readonly<Entry<V>>> {
		return this.#entries.values()
	}

	#evict(now: number): void {
		const idle = this.#idle
		while (idle.first && (this.size > this.#maxKeys || now - idle.first.usedAt >= this.#idleMs))
			this.delete(idle.first.key)
	}
}
