import { expect, it } from 'vitest'
import { type CacheOptions, readCacheOptions } from '../../../src/http/cache/options.ts'
import { ResponseCache } from '../../../src/http/cache/response-cache.ts'

it('five hundred answers of ten megabytes in all are remembered for five minutes when nothing is said', () => {
	expect(readCacheOptions({})).toEqual({
		maxEntries: 500,
		maxBytes: 10_000_000,
		maxBodyBytes: 1_000_000,
		maxAgeMs: 300_000,
	})
})

it('every option is taken', () => {
	const options = { maxEntries: 1, maxBytes: 0, maxBodyBytes: 0, maxAgeMs: Infinity }
	expect(readCacheOptions(options)).toEqual(options)
})

it.each([
	[{ maxEntries: 0 }, 'maxEntries: got 0; takes a finite number, 1 or more'],
	[{ maxEntries: 1.5 }, 'maxEntries: got 1.5; takes a whole number'],
	[{ maxBytes: 0.5 }, 'maxBytes: got 0.5; takes a whole number'],
	[{ maxBytes: Infinity }, 'maxBytes: got Infinity; takes a finite number, 0 or more'],
	[{ maxBodyBytes: -1 }, 'maxBodyBytes: got -1; takes a finite number, 0 or more'],
	[{ maxBodyBytes: '1MB' }, "maxBodyBytes: got '1MB'; takes a finite number, 0 or more"],
	[{ maxAgeMs: Number.NaN }, /^maxAgeMs: got NaN; takes /],
	[
		{ maxAge: 5 },
		'maxAge: got 5; takes nothing, for there is no such option, only maxEntries, maxBytes, maxBodyBytes, maxAgeMs',
	],
	[null, 'options: got null; takes an object'],
])('%o is refused', (options, message) => {
	expect(() => new ResponseCache(options as CacheOptions)).toThrow(message)
})
