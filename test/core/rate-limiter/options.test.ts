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
		[{ limit: 0 }, 'limit: got 0; takes a number from 1 to 1000000000'],
		[{ limit: 2.5 }, 'limit: got 2.5; takes a whole number'],
		[{ limit: Number.NaN }, 'limit: got NaN; takes a number from 1 to 1000000000'],
		[{ intervalMs: 0 }, 'intervalMs: got 0; takes a number from 1 to 86400000'],
		[{ intervalMs: 1_000 / 3 }, 'takes a whole number'],
		[{ burst: 0 }, 'burst: got 0; takes a number from 1 to 1000000000'],
		[{ burst: 1.5 }, 'burst: got 1.5; takes a whole number'],
		[{ maxWaitMs: -1 }, 'maxWaitMs: got -1'],
		[{ maxWaitMs: Number.NaN }, 'maxWaitMs: got NaN'],
		[{ algorithm: 'leaky' }, "algorithm: got 'leaky'; takes one of token-bucket, sliding-window"],
		[{ name: 5 }, 'name: got 5; takes a string'],
		[{ runtime: {} }, 'runtime: got [object Object]; takes a Runtime'],
		[{ rate: 5 }, 'rate: got 5; takes nothing'],
	])('are refused where they can not work: %j', (options, message) => {
		expect(() => readRateLimiterOptions(options as RateLimiterOptions)).toThrow(message)
	})
})
