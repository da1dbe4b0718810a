import {
	checkNames,
	invalidOption,
	MAX_NUMBER,
	type OptionSchema,
	readOptions,
} from '../../core/options/schema.ts'

/** How many last good responses are remembered, how large, and for how long. */
export interface CacheOptions {
	/** How many responses are remembered; past that the one unused for longest is forgotten. Default 500. */
	readonly maxEntries?: number | undefined
	/** How many bytes they may have together, with their headers and keys. Default 10,000,000. */
	readonly maxBytes?: number | undefined
	/** A body above so many bytes is not remembered. Default 1,000,000. */
	readonly maxBodyBytes?: number | undefined
	/** A response older than this is forgotten. Infinity: never for its age. Default 300,000 (five minutes). */
	readonly maxAgeMs?: number | undefined
}

/** Cache options after the check, with every default filled in. */
export interface CacheSettings {
	readonly maxEntries: number
	readonly maxBytes: number
	readonly maxBodyBytes: number
	readonly maxAgeMs: number
}

const CACHE_RULES: OptionSchema = {
	maxEntries: [1, MAX_NUMBER, 500],
	maxBytes: [0, MAX_NUMBER, 10_000_000],
	maxBodyBytes: [0, MAX_NUMBER, 1_000_000],
	maxAgeMs: [0, Infinity, 300_000],
}

export function readCacheOptions(options: CacheOptions): CacheSettings {
	checkNames(options, CACHE_RULES)
	const settings = readOptions<CacheSettings>(options, CACHE_RULES)
	const { maxAgeMs: _, ...counts } = settings
	for (const [option, count] of Object.entries(counts))
		if (count % 1) invalidOption(option, count, 'a whole number')
	return settings
}
