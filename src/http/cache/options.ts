import { checkNames, MAX_NUMBER, type OptionSchema, readOptions } from '../../core/options/schema.ts'

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
