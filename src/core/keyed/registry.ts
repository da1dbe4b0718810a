/**
 * One value per key, for any number of keys in bounded memory. Only idle entries are in the eviction list, in
 * the order in which they were released: the entry to evict is always the first, and nothing is searched,
 * sorted or timed. (A Map in order of use needs no list, but then every eviction has to step over
 * long-running calls at its front.)
 *
 * An entry that rejects calls is not evicted, because its calls would pass again. When its turn comes it
 * moves to a list of its own, which is bounded too, and examined only when an entry is created.
 */

import type { Policy } from '../engine/policy.ts'
import { type Link, LinkedList } from '../structures/linked-list.ts'

/** Whether a value rejects calls: 2 because it is isolated, 1 for another reason, 0 not at all. */
export type Block = 0 | 1 | 2

export interface Entry<V> extends Link<Entry<V>> {
	readonly key: string
	readonly value: V
	/** The number of current users. */
	uses: number
	/** When the entry was last released or, while it is in use, when that use began. */
	usedAt: number
	/** The list that contains the entry while it is not in use. */
	list: Block
}

/** Which entries must not be evicted. */
export interface BlockRule<V> {
	blockOf(value: V): Block
	/** The option that sets the maximum number of keys, for warnings. */
	readonly limitName: string
}

const IDLE = 0
const ISOLATED = 2

export class Registry<V> {
	readonly #entries = new Map<string, Entry<V>>()
	readonly #idle = new LinkedList<Entry<V>>()
	/** Index 0: idle; 1: kept because they reject calls; 2: kept because isolated. */
	readonly #lists = [this.#idle, new LinkedList<Entry<V>>(), new LinkedList<Entry<V>>()] as const
	readonly #counts: [idle: number, blocking: number, isolated: number] = [0, 0, 0]
	readonly #rule: BlockRule<V> | undefined
	#hasWarned = false
	#maxKeys: number
	#idleMs: number

	constructor(maxKeys: number, idleMs: number, rule?: BlockRule<V>) {
		this.#maxKeys = maxKeys
		this.#idleMs = idleMs
		this.#rule = rule
	}

	/**
	 * The number of entries. It exceeds `maxKeys` only while entries are in use or reject calls. Idle entries
	 * count until the next access finds them expired.
	 */
	get size(): number {
		return this.#entries.size
	}

	/**
	 * Returns the entry of a key, creating it if needed, and keeps it until `release`. Every `acquire` needs
	 * exactly one `release`.
	 */
	acquire(key: string, now: number, make: (key: string) => V): Entry<V> {
		this.#evict(now)
		const value = this.#entries.has(key) ? undefined : make(key)
		// Looked up after creation, because `make` may have asked for the same key.
		let entry = this.#entries.get(key)
		if (entry) {
			if (!entry.uses++) this.#remove(entry)
		} else {
			entry = {
				key,
				value: value as V,
				uses: 1,
				usedAt: now,
				list: IDLE,
				previous: undefined,
				following: undefined,
			}
			this.#entries.set(key, entry)
			if (this.#rule) this.#examineBlocking(this.#rule)
			this.#evict(now)
		}
		return entry
	}

	release(entry: Entry<V>, now: number): void {
		if (--entry.uses) return
		entry.usedAt = now
		this.#add(entry, IDLE)
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

	/** Deletes a key. Calls that use its entry keep it, and the next `acquire` creates a new one. */
	delete(key: string): boolean {
		const entry = this.#entries.get(key)
		if (!entry) return false
		if (!entry.uses) this.#remove(entry)
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

	/** Returns the entries in order of creation. */
	entries(): MapIterator<Readonly<Entry<V>>> {
		return this.#entries.values()
	}

	#evict(now: number): void {
		const idle = this.#idle
		while (idle.first && (this.#isFull() || now - idle.first.usedAt >= this.#idleMs)) {
			const { first } = idle
			const block = this.#rule?.blockOf(first.value)
			if (block) this.#keep(first, block)
			else this.delete(first.key)
		}
	}

	#isFull(): boolean {
		const [, blocking, isolated] = this.#counts
		return this.size - blocking - isolated > this.#maxKeys
	}

	/** Moves an entry to the end of its list. If that is full, its first entry is evicted with a warning. */
	#keep(entry: Entry<V>, block: Block): void {
		this.#remove(entry)
		this.#add(entry, block)
		while (this.#counts[block] > this.#maxKeys) {
			const { first } = this.#lists[block]
			if (!first) return
			this.delete(first.key)
			this.#warn(first.key, block)
		}
	}

	/**
	 * Moves the first entry of each list to its end or, if it accepts calls again, makes it the next to evict.
	 */
	#examineBlocking({ blockOf }: BlockRule<V>): void {
		const [, ...lists] = this.#lists
		for (const { first } of lists) {
			if (!first) continue
			const block = blockOf(first.value)
			if (block) this.#keep(first, block)
			else {
				this.#remove(first)
				this.#add(first, IDLE, true)
			}
		}
	}

	#add(entry: Entry<V>, block: Block, isFirst = false): void {
		const list = this.#lists[block]
		entry.list = block
		list.insert(entry, isFirst ? undefined : list.last)
		this.#counts[block]++
	}

	#remove(entry: Entry<V>): void {
		this.#lists[entry.list].remove(entry)
		this.#counts[entry.list]--
	}

	/** Reports every lost isolation, because an operator has set it, but only the first open circuit. */
	#warn(key: string, block: Block): void {
		const isIsolated = block === ISOLATED
		if (this.#hasWarned && !isIsolated) return
		this.#hasWarned ||= !isIsolated
		const state = isIsolated ? 'was isolated' : 'rejected calls'
		console.warn(
			`yaoki: evicted '${key}', which ${state}. Increase ${this.#rule?.limitName} (${this.#maxKeys})`,
		)
	}
}

/** What shows whether a policy rejects calls: a circuit's statistics, or the policies of its keys. */
interface Blocking {
	readonly stats?: { readonly state?: unknown; readonly retryAfterMs?: number }
	entries?(): Iterable<readonly [key: string, policy: Policy<unknown>]>
}

/**
 * Returns whether a policy rejects calls because a circuit is open or isolated. It reads statistics instead
 * of checking classes, so that programs without a breaker do not load one.
 */
export function blockOf(policy: Policy<unknown>): Block {
	return Math.max(0, ...policy.leaves().map(blockOfLeaf)) as Block
}

function blockOfLeaf(leaf: Policy<unknown> & Blocking): Block {
	if (leaf.entries) return Math.max(0, ...[...leaf.entries()].map(([, policy]) => blockOf(policy))) as Block
	const { state, retryAfterMs = 0 } = leaf.stats ?? {}
	if (state === undefined || !(retryAfterMs > 0)) return 0
	return retryAfterMs === Infinity ? 2 : 1
}
