import { describe, expect, it } from 'vitest'
import { type RateLimiterOptions, readRateLimiterOptions } from '../../../src/core/rate-limiter/options.ts'

describe('rate limiter options', () => {
	it('default to ten calls per second without waiting', () => {
		expect(readRateLimiterOptions({})).toEqual({
			limit: 10,
			intervalMs: 1_000,
			burst: 10,
			algorithm: 'token-bucket',
			maxWaitMs: 0,
		})
	})
	it('burst defaults to the limit', () => {
		expect(readRateLimiterOptions({ limit: 7 }).burst).toBe(7)
		expect(readRateLimiterOptions({ limit: 7, burst: undefined }).burst).toBe(7)
		expect(readRateLimiterOptions({ limit: 7, burst: 1 }).burst).toBe(1)
	})
	it('maxWaitMs may be Infinity', () => {
		expect(readRateLimiterOptions({ maxWaitMs: Infinity }).maxWaitMs).toBe(Infinity)
	})
	it('include the options that all policies share', () => {
		const classify = () => ({ kind: 'transient', isKnown: true }) as const
		expect(readRateLimiterOptions({ name: 'search', classify, algorithm: 'sliding-window' })).toMatchObject({
			name: 'search',
			classify,
			algorithm: 'sliding-window',
		})
	})

	it.each([
		[{ limit: 0 }, 'Invalid option "limit": expected an integer from 1 to 1000000000, got 0'],
		[{ limit: 2.5 }, 'Invalid option "limit": expected an integer from 1 to 1000000000, got 2.5'],
		[{ limit: Number.NaN }, 'Invalid option "limit": expected an integer from 1 to 1000000000, got NaN'],
		[{ intervalMs: 0 }, 'Invalid option "intervalMs": expected an integer from 1 to 86400000, got 0'],
		[
			{ intervalMs: 1_000 / 3 },
			'Invalid option "intervalMs": expected an integer from 1 to 86400000, got 333.3333333333333',
		],
		[{ burst: 0 }, 'Invalid option "burst": expected an integer from 1 to 1000000000, got 0'],
		[{ burst: 1.5 }, 'Invalid option "burst": expected an integer from 1 to 1000000000, got 1.5'],
		[{ maxWaitMs: -1 }, /Invalid option "maxWaitMs": expected .*, got -1/],
		[{ maxWaitMs: Number.NaN }, /Invalid option "maxWaitMs": expected .*, got NaN/],
		[
			{ algorithm: 'leaky' },
			'Invalid option "algorithm": expected one of token-bucket, sliding-window, got "leaky"',
		],
		[{ name: 5 }, 'Invalid option "name": expected a string, got 5'],
		[{ runtime: {} }, 'Invalid option "runtime": expected a Runtime, got [object Object]'],
		[{ rate: 5 }, 'Unknown option "rate" for rateLimiter. Valid options: limit, '],
	])('are rejected if invalid: %j', (options, message) => {
		expect(() => readRateLimiterOptions(options as RateLimiterOptions)).toThrow(message)
	})
})
