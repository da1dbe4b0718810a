import { checkNames, MAX_NUMBER, type OptionSchema, readOptions } from '../../core/options/schema.ts'

/** The request that `principal` receives. */
export interface PrincipalRequest {
	readonly method: string
	readonly url: string
	readonly headers: Headers
}

/** Limits of the cache of last successful responses. */
export interface CacheOptions {
	/** Maximum number of responses; beyond it the least recently used one is evicted. Default 500. */
	readonly maxEntries?: number | undefined
	/** Maximum total size in bytes, headers and keys included. Default 10,000,000. */
	readonly maxBytes?: number | undefined
	/** Larger bodies are not cached, in bytes. Default 1,000,000. */
	readonly maxBodyBytes?: number | undefined
	/** Maximum age of a response in milliseconds. Infinity: no limit. Default 300,000 (five minutes). */
	readonly maxAgeMs?: number | undefined
	/**
	 * Returns a string that identifies the user of a request, undefined if there is none. Users with different strings never receive
	 * each other's responses. Needed if credentials are in none of the headers that the cache knows. Default: none.
	 */
	readonly principal?: ((request: PrincipalRequest) => string | undefined) | undefined
}

type Limits = Readonly<Record<Exclude<keyof CacheOptions, 'principal'>, number>>

/** The validated options with defaults. */
export type CacheSettings = Limits & Pick<CacheOptions, 'principal'>

const CACHE_SCHEMA: OptionSchema = {
	maxEntries: [1, MAX_NUMBER, 500, 'integer'],
	maxBytes: [0, MAX_NUMBER, 10_000_000, 'integer'],
	maxBodyBytes: [0, MAX_NUMBER, 1_000_000, 'integer'],
	maxAgeMs: [0, Infinity, 300_000],
	principal: 'function',
}

export function readCacheOptions(options: CacheOptions): CacheSettings {
	checkNames(options, CACHE_SCHEMA, 'cache')
	return readOptions(options, CACHE_SCHEMA)
}
