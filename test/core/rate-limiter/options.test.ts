import { describe, expect, it } from 'vitest'
import { type RateLimiterOptions, readRateLimiterOptions } from '../../../src/core/rate-limiter/options.ts'

describe('rate limiter options', () => {
	it('are ten calls a second, at once or not at all, when nothing is said', () => {
		expect(readRateLimiterOptions({})).toEqual({
			limit: 10,
			intervalMs: 1_000,
			burst: 10,
			algorithm: 'token-bucket',
			maxWaitMs: 0,
		})
	})
	it('have the limit as their burst unless another is given', () => {
		expect(readRateLimiterOptions({ limit: 7 }).burst).toBe(7)
		expect(readRateLimiterOptions({ limit: 7, burst: undefined }).burst).toBe(7)
		expect(readRateLimiterOptions({ limit: 7, burst: 1 }).burst).toBe(1)
	})
	it('may let a call wait as long as it takes', () => {
		expect(readRateLimiterOptions({ maxWaitMs: Infinity }).maxWaitMs).toBe(Infinity)
	})
	it('keep what every policy takes', () => {
		const classify = () => ({ kind: 'transient', isKnown: true }) as const
		expect(readRateLimiterOptions({ name: 'search', classify, algorithm: 'sliding-window' })).toMatchObject({
			name: 'search',
			classify,
			algorithm: 'sliding-window',
		})
	})

	it.each([
		[{ limit: 0 }, 'Invalid option "limit": expected a number from 1 to 1000000000, got 0'],
		[{ limit: 2.5 }, 'Invalid option "limit": expected an integer, got 2.5'],
		[{ limit: Number.NaN }, 'Invalid option "limit": expected a number from 1 to 1000000000, got NaN'],
		[{ intervalMs: 0 }, 'Invalid option "intervalMs": expected a number from 1 to 86400000, got 0'],
		[{ intervalMs: 1_000 / 3 }, 'expected an integer'],
		[{ burst: 0 }, 'Invalid option "burst": expected a number from 1 to 1000000000, got 0'],
		[{ burst: 1.5 }, 'Invalid option "burst": expected an integer, got 1.5'],
		[{ maxWaitMs: -1 }, /Invalid option "maxWaitMs": expected .*, got -1/],
		[{ maxWaitMs: Number.NaN }, /Invalid option "maxWaitMs": expected .*, got NaN/],
		[
			{ algorithm: 'leaky' },
			'Invalid option "algorithm": expected one of token-bucket, sliding-window, got "leaky"',
		],
		[{ name: 5 }, 'Invalid option "name": expected a string, got 5'],
		[{ runtime: {} }, 'Invalid option "runtime": expected a Runtime, got [object Object]'],
		[{ rate: 5 }, 'Invalid option "rate": expected nothing, got 5'],
	])('are refused where they can not work: %j', (options, message) => {
		expect(() => readRateLimiterOptions(options as RateLimiterOptions)).toThrow(message)
	})
})
