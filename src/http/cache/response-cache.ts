/**
 * The last good answer to each GET, for the time when there is no other. It saves no request, so it knows nothing of freshness
 * and validation, and what a cache by RFC 9111 would have to revalidate is kept as well: whoever is given it is told so. Entries
 * stand in two lines, by age and by use, so that what is too old goes with the next access, with the credentials in its key, and no
 * access searches for whom to evict.
 */
import { type Link, LinkedList } from '../../core/structures/linked-list.ts'
import {
	acceptsCached,
	type CachedRequest,
	isStorable,
	isUnsafe,
	isWithdrawn,
	MAX_VARY_NAMES,
	type ResponseHead,
	selectorOf,
	varyNames,
	withoutFragment,
} from './cacheability.ts'
import { type CacheOptions, type CacheSettings, readCacheOptions } from './options.ts'

/** An answer with its whole body. The bytes are the cache's from here on. */
export interface WholeResponse extends ResponseHead {
	readonly statusText: string
	readonly url: string
	readonly bytes: Uint8Array<ArrayBuffer>
}

/** An answer as it is remembered. */
export interface CachedEntry {
	readonly status: number
	readonly statusText: string
	readonly url: string
	readonly headers: readonly (readonly [name: string, value: string])[]
	readonly bytes: Uint8Array<ArrayBuffer>
	/** When it was kept. */
	readonly at: number
}

export interface CacheStats {
	readonly entries: number
	/** Of bodies, headers and keys. */
	readonly bytes: number
	readonly hits: number
	readonly misses: number
}

/** All answers of one URL. There is none without an entry, or any number of URLs would be remembered. */
interface Page {
	readonly url: string
	/** All that Vary named since the first of the entries. */
	readonly names: readonly string[]
	readonly entries: Map<string, Entry>
}

interface Place extends Link<Place> {
	readonly entry: Entry
}

class Entry {
	readonly byAge: Place = { entry: this, before: undefined, after: undefined }
	readonly byUse: Place = { entry: this, before: undefined, after: undefined }
	readonly page: Page
	readonly selector: string
	readonly kept: CachedEntry
	readonly size: number

	constructor(page: Page, selector: string, kept: CachedEntry) {
		this.page = page
		this.selector = selector
		this.kept = kept
		let size = kept.bytes.byteLength + page.url.length + selector.length + kept.url.length
		for (const [name, value] of kept.headers) size += name.length + value.length
		this.size = size
	}
}

/**
 * Remembers the last good answer to each GET, apart for each principal. It has no clock: every method is told the time.
 *
 * @example
 * if (cache.wants(request, response, now)) {
 * 	const { bytes, response: whole } = await readWhole(response, cache.maxBodyBytes)
 * 	const { status, statusText, url, headers } = whole
 * 	if (bytes) cache.keep(request, { status, statusText, url, headers, bytes }, now)
 * }
 */
export class ResponseCache {
	readonly #settings: CacheSettings
	readonly #pages = new Map<string, Page>()
	readonly #byAge = new LinkedList<Place>()
	readonly #byUse = new LinkedList<Place>()
	#entries = 0
	#generation = 0
	#bytes = 0
	#hits = 0
	#misses = 0

	constructor(options: CacheOptions = {}) {
		this.#settings = readCacheOptions(options)
	}

	get stats(): CacheStats {
		return { entries: this.#entries, bytes: this.#bytes, hits: this.#hits, misses: this.#misses }
	}

	/**
	 * Raised by all that makes answers on their way untrue: a `clear`, a write that went well. A request takes it down when it is sent, and
	 * its answer is kept only if nothing has happened since.
	 */
	get generation(): number {
		return this.#generation
	}

	/** A larger body need not be read for the cache. */
	get maxBodyBytes(): number {
		return this.#settings.maxBodyBytes
	}

	/**
	 * Is the body worth reading, judged by the head? Tell it of every answer, also of errors and to other methods: what a write may
	 * have changed, what turns out to depend on more than headers, and what is gone or forbidden by now is forgotten.
	 */
	wants(request: CachedRequest, head: ResponseHead, now: number): boolean {
		this.#forgetOld(now)
		if (isWithdrawn(head) && !isUnsafe(request)) this.#forget(this.#entryOf(request))
		const isGood = head.status >= 200 && head.status < 400
		if (isGood && (isUnsafe(request) || !varyNames(head.headers))) {
			this.#generation++
			this.#forgetPage(withoutFragment(request.url))
			return false
		}
		return isStorable(request, head)
	}

	/** Remembers an answer in place of the one before, if it may be kept and is not too large. Says whether it did. */
	keep(request: CachedRequest, response: WholeResponse, now: number): boolean {
		const { status, statusText, url, bytes } = response
		const { generation = this.#generation } = request
		if (generation !== this.#generation) return false
		if (!this.wants(request, response, now) || bytes.byteLength > this.#settings.maxBodyBytes) return false
		const page = this.#learn(withoutFragment(request.url), varyNames(response.headers) ?? [])
		if (!page) return false
		const headers = [...response.headers]
		const kept: CachedEntry = { status, statusText, url, headers, bytes: ownBytes(bytes), at: now }
		const entry = new Entry(page, selectorOf(request, page.names), kept)
		if (entry.size > this.#settings.maxBytes) return false
		this.#add(entry)
		return true
	}

	/** The last good answer to the same GET by the same principal. */
	find(request: CachedRequest, now: number): CachedEntry | undefined {
		this.#forgetOld(now)
		const entry = acceptsCached(request) ? this.#entryOf(request) : undefined
		if (!entry) {
			this.#misses++
			return undefined
		}
		this.#hits++
		this.#byUse.remove(entry.byUse)
		this.#byUse.insert(entry.byUse, this.#byUse.last)
		return entry.kept
	}

	/** Forgets all answers, as when a user logs out of a page whose cookies can not be seen from here. Hits and misses stay counted. */
	clear(): void {
		this.#generation++
		while (this.#byUse.first) this.#forget(this.#byUse.first.entry)
	}

	#entryOf(request: CachedRequest): Entry | undefined {
		const page = this.#pages.get(withoutFragment(request.url))
		return page?.entries.get(selectorOf(request, page.names))
	}

	/**
	 * The URL's page, by which its answers are told apart by these names, too. Answers that were kept before a name was known
	 * go: by whose value they were made nobody wrote down.
	 */
	#learn(url: string, names: readonly string[]): Page | undefined {
		const page = this.#pages.get(url)
		if (page && names.every((name) => page.names.includes(name))) return page
		this.#forgetPage(url)
		const all = [...new Set([...(page?.names ?? []), ...names])]
		return all.length > MAX_VARY_NAMES ? undefined : { url, names: all, entries: new Map() }
	}

	#add(entry: Entry): void {
		const { page, selector, size } = entry
		this.#forget(page.entries.get(selector))
		page.entries.set(selector, entry)
		// It is not there when it is new, or when the entry before was its only one.
		this.#pages.set(page.url, page)
		this.#byAge.insert(entry.byAge, this.#byAge.last)
		this.#byUse.insert(entry.byUse, this.#byUse.last)
		this.#entries++
		this.#bytes += size
		const { maxEntries, maxBytes } = this.#settings
		while (this.#byUse.first && (this.#entries > maxEntries || this.#bytes > maxBytes))
			this.#forget(this.#byUse.first.entry)
	}

	#forget(entry: Entry | undefined): void {
		if (!entry) return
		const { page, selector, size } = entry
		page.entries.delete(selector)
		if (!page.entries.size) this.#pages.delete(page.url)
		this.#byAge.remove(entry.byAge)
		this.#byUse.remove(entry.byUse)
		this.#entries--
		this.#bytes -= size
	}

	#forgetPage(url: string): void {
		for (const entry of this.#pages.get(url)?.entries.values() ?? []) this.#forget(entry)
	}

	#forgetOld(now: number): void {
		for (;;) {
			const oldest = this.#byAge.first?.entry
			if (!oldest || now - oldest.kept.at <= this.#settings.maxAgeMs) return
			this.#forget(oldest)
		}
	}
}

/** A few bytes of a large buffer would keep all of it alive, uncounted. */
const ownBytes = (bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> =>
	bytes.byteLength < bytes.buffer.byteLength ? new Uint8Array(bytes) : bytes
