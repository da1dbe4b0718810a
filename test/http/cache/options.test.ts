import { expect, it } from 'vitest'
import { type CacheOptions, ResponseCache, readCacheOptions } from '../../../src/http/cache/response-cache.ts'

it('the default is 500 responses, 10 MB and five minutes', () => {
	expect(readCacheOptions({})).toEqual({
		maxEntries: 500,
		maxBytes: 10_000_000,
		maxBodyBytes: 1_000_000,
		maxAgeMs: 300_000,
	})
})

it('accepts every option', () => {
	const options = { maxEntries: 1, maxBytes: 0, maxBodyBytes: 0, maxAgeMs: Infinity }
	expect(readCacheOptions(options)).toEqual(options)
})

it.each([
	[{ maxEntries: 0 }, 'Invalid option "maxEntries": expected an integer, 1 or more, got 0'],
	[{ maxEntries: 1.5 }, 'Invalid option "maxEntries": expected an integer, 1 or more, got 1.5'],
	[{ maxBytes: 0.5 }, 'Invalid option "maxBytes": expected an integer, 0 or more, got 0.5'],
	[{ maxBytes: Infinity }, 'Invalid option "maxBytes": expected an integer, 0 or more, got Infinity'],
	[{ maxBodyBytes: -1 }, 'Invalid option "maxBodyBytes": expected an integer, 0 or more, got -1'],
	[{ maxBodyBytes: '1MB' }, 'Invalid option "maxBodyBytes": expected an integer, 0 or more, got "1MB"'],
	[{ maxAgeMs: Number.NaN }, /^Invalid option "maxAgeMs": expected .*, got NaN/],
	[{ maxAge: 5 }, 'Unknown option "maxAge" for cache. Did you mean "maxAgeMs"?'],
	[null, 'Invalid option "options": expected an object, got null'],
])('rejects %o', (options, message) => {
	expect(() => new ResponseCache(options as CacheOptions)).toThrow(message)
})
