/**
 * The last successful response to each GET, for use while the circuit is open. It does not save requests, so
 * it has no freshness or validation, and it also stores what a cache by RFC 9111 would have to revalidate:
 * its responses are marked. Entries are in two sets, ordered by age and by use, so that expired entries (and
 * the credentials in their keys) are removed on the next access, and eviction needs no search. It has no
 * clock: methods receive the time.
 */

import { checkNames, MAX_NUMBER, type OptionSchema, readOptions } from '../../core/options/schema.ts'
import {
	acceptsCached,
	type CachedRequest,
	isStorable,
	isUnsafe,
	isWithdrawn,
	MAX_VARY_NAMES,
	type ResponseHead,
	variantKey,
	varyNames,
	withoutFragment,
} from './cacheability.ts'

/** A response with its whole body. The cache owns the bytes. */
export interface WholeResponse extends ResponseHead {
	readonly statusText: string
	readonly url: string
	readonly bytes: Uint8Array<ArrayBuffer>
}

/** A cached response. */
export interface CachedEntry {
	readonly status: number
	readonly statusText: string
	readonly url: string
	readonly headers: readonly (readonly [name: string, value: string])[]
	readonly bytes: Uint8Array<ArrayBuffer>
	readonly storedAt: number
}

export interface CacheStats {
	readonly entries: number
	/** Size of bodies, headers and keys. */
	readonly bytes: number
	readonly hits: number
	readonly misses: number
}

/** All responses of one URL. Removed with its last entry, or the number of URLs would grow without limit. */
interface Variants {
	readonly url: string
	/** All names in Vary since the first entry. */
	readonly names: readonly string[]
	readonly nodes: Map<string, Node>
}

/** An entry with its key. */
interface Node {
	readonly variants: Variants
	readonly key: string
	readonly entry: CachedEntry
	readonly size: number
}

function createNode(variants: Variants, key: string, entry: CachedEntry): Node {
	let size = entry.bytes.byteLength + variants.url.length + key.length + entry.url.length
	for (const [name, value] of entry.headers) size += name.length + value.length
	return { variants, key, entry, size }
}

/** Returns the oldest element: a Set iterates in insertion order. */
const first = <T>(set: ReadonlySet<T>): T | undefined => set.values().next().value

export class ResponseCache {
	readonly #settings: CacheSettings
	readonly #urls = new Map<string, Variants>()
	readonly #byAge = new Set<Node>()
	readonly #byUse = new Set<Node>()
	#generation = 0
	#bytes = 0
	#hits = 0
	#misses = 0

	constructor(options: CacheOptions = {}) {
		this.#settings = readCacheOptions(options)
	}

	get stats(): CacheStats {
		return { entries: this.#byAge.size, bytes: this.#bytes, hits: this.#hits, misses: this.#misses }
	}

	/**
	 * Incremented by everything that makes responses in flight outdated: `clear` and successful writes. A
	 * response is stored only if the generation has not changed since its request was sent.
	 */
	get generation(): number {
		return this.#generation
	}

	/** Larger bodies are not read for the cache. */
	get maxBodyBytes(): number {
		return this.#settings.maxBodyBytes
	}

	/**
	 * Returns true if the body should be read for the cache, judged by the head. Call it for every response,
	 * errors and other methods included: it removes entries that a write may have changed, that are gone or
	 * forbidden, that are now redirected, or whose Vary cannot be understood.
	 */
	isWanted(request: CachedRequest, head: ResponseHead, now: number): boolean {
		this.#removeExpired(now)
		if (isWithdrawn(head) && !isUnsafe(request)) this.#remove(this.#nodeOf(request))
		const isSuccess = head.status >= 200 && head.status < 400
		if (isSuccess && (isUnsafe(request) || !varyNames(head.headers))) {
			this.#generation++
			this.#removeUrl(withoutFragment(request.url))
			return false
		}
		if (isSuccess && head.redirected) this.#removeUrl(withoutFragment(request.url))
		return isStorable(request, head)
	}

	/** Stores a response in place of the previous one. Returns false if it may not be stored or is too large. */
	store(request: CachedRequest, response: WholeResponse, now: number): boolean {
		const { status, statusText, url, bytes } = response
		const { generation = this.#generation } = request
		if (generation !== this.#generation) return false
		if (!this.isWanted(request, response, now) || bytes.byteLength > this.#settings.maxBodyBytes) return false
		const variants = this.#variantsBy(withoutFragment(request.url), varyNames(response.headers) ?? [])
		if (!variants) return false
		const headers = [...response.headers]
		const entry: CachedEntry = { status, statusText, url, headers, bytes: ownBytes(bytes), storedAt: now }
		const node = createNode(variants, variantKey(request, variants.names), entry)
		if (node.size > this.#settings.maxBytes) return false
		this.#add(node)
		return true
	}

	/** Returns the last successful response to the same GET by the same principal. */
	find(request: CachedRequest, now: number): CachedEntry | undefined {
		this.#removeExpired(now)
		const node = acceptsCached(request) ? this.#nodeOf(request) : undefined
		if (!node) {
			this.#misses++
			return undefined
		}
		this.#hits++
		this.#byUse.delete(node)
		this.#byUse.add(node)
		return node.entry
	}

	/** Removes all entries, for example when a user logs out. Keeps the hit counts. */
	clear(): void {
		this.#generation++
		for (const node of this.#byUse) this.#remove(node)
	}

	#nodeOf(request: CachedRequest): Node | undefined {
		const variants = this.#urls.get(withoutFragment(request.url))
		return variants?.nodes.get(variantKey(request, variants.names))
	}

	/** Returns the variants of a URL by these names too. Entries without a value of a new name are removed. */
	#variantsBy(url: string, names: readonly string[]): Variants | undefined {
		const variants = this.#urls.get(url)
		if (variants && names.every((name) => variants.names.includes(name))) return variants
		this.#removeUrl(url)
		const all = [...new Set([...(variants?.names ?? []), ...names])]
		return all.length > MAX_VARY_NAMES ? undefined : { url, names: all, nodes: new Map() }
	}

	#add(node: Node): void {
		const { variants, key, size } = node
		this.#remove(variants.nodes.get(key))
		variants.nodes.set(key, node)
		// Missing if it is new, or if the replaced node was its only one.
		this.#urls.set(variants.url, variants)
		this.#byAge.add(node)
		this.#byUse.add(node)
		this.#bytes += size
		const { maxEntries, maxBytes } = this.#settings
		while (this.#byUse.size > maxEntries || this.#bytes > maxBytes) this.#remove(first(this.#byUse))
	}

	#remove(node: Node | undefined): void {
		if (!node) return
		const { variants, key, size } = node
		variants.nodes.delete(key)
		if (!variants.nodes.size) this.#urls.delete(variants.url)
		this.#byAge.delete(node)
		this.#byUse.delete(node)
		this.#bytes -= size
	}

	#removeUrl(url: string): void {
		for (const node of this.#urls.get(url)?.nodes.values() ?? []) this.#remove(node)
	}

	#removeExpired(now: number): void {
		for (const node of this.#byAge) {
			if (now - node.entry.storedAt <= this.#settings.maxAgeMs) return
			this.#remove(node)
		}
	}
}

/** Copies a small view of a large buffer, which would otherwise stay alive uncounted. */
const ownBytes = (bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> =>
	bytes.byteLength < bytes.buffer.byteLength ? new Uint8Array(bytes) : bytes

/** Limits of the cache of last successful responses: the option `cache` of a `ResilientHttpClient`. */
export interface CacheOptions {
	/** Maximum number of responses; beyond it the least recently used one is evicted. Default 500. */
	readonly maxEntries?: number | undefined
	/** Maximum total size in bytes, headers and keys included. Default 10,000,000. */
	readonly maxBytes?: number | undefined
	/** Larger bodies are not cached, in bytes. Default 1,000,000. */
	readonly maxBodyBytes?: number | undefined
	/** Maximum age of a response in milliseconds. Infinity: no limit. Default 300,000 (five minutes). */
	readonly maxAgeMs?: number | undefined
}

/** The validated options with defaults. */
export type CacheSettings = Readonly<Record<keyof CacheOptions, number>>

const CACHE_SCHEMA: OptionSchema = {
	maxEntries: [1, MAX_NUMBER, 500, 'integer'],
	maxBytes: [0, MAX_NUMBER, 10_000_000, 'integer'],
	maxBodyBytes: [0, MAX_NUMBER, 1_000_000, 'integer'],
	maxAgeMs: [0, Infinity, 300_000],
}

export function readCacheOptions(options: CacheOptions): CacheSettings {
	checkNames(options, CACHE_SCHEMA, 'cache')
	return readOptions(options, CACHE_SCHEMA)
}
