import { describe, expect, it } from 'vitest'
import {
	type AdaptiveBulkheadOptions,
	readAdaptiveBulkheadOptions,
} from '../../../src/core/bulkhead/adaptive-options.ts'
import { type BulkheadOptions, readBulkheadOptions } from '../../../src/core/bulkhead/options.ts'

const priority = (): number => 1

describe('a bulkhead', () => {
	it('has these defaults', () => {
		expect(readBulkheadOptions({})).toEqual({
			maxConcurrent: 10,
			maxQueue: 50,
			queueTimeoutMs: 30_000,
			abandonAfterMs: Infinity,
		})
	})

	it('takes every option', () => {
		const options: Required<Omit<BulkheadOptions, 'runtime' | 'classify'>> = {
			name: 'payments',
			maxConcurrent: 1,
			maxQueue: 0,
			queueTimeoutMs: 0,
			abandonAfterMs: 5,
			priority,
		}
		expect(readBulkheadOptions(options)).toEqual(options)
	})

	it('may queue without a bound and for any time', () => {
		const boundless = { maxQueue: Infinity, queueTimeoutMs: Infinity, abandonAfterMs: Infinity }
		expect(readBulkheadOptions(boundless)).toMatchObject(boundless)
	})

	it.each([
		[{ maxConcurrent: 0 }, 'maxConcurrent: got 0; takes a finite number, 1 or more'],
		[{ maxConcurrent: 2.5 }, 'maxConcurrent: got 2.5; takes a whole number'],
		[{ maxConcurrent: Infinity }, 'maxConcurrent: got Infinity; takes a finite number, 1 or more'],
		[{ maxQueue: 0.5 }, 'maxQueue: got 0.5; takes a whole number'],
		[{ maxQueue: -1 }, /^maxQueue: got -1; takes /],
		[{ queueTimeoutMs: Number.NaN }, /^queueTimeoutMs: got NaN; takes /],
		[{ abandonAfterMs: -5 }, /^abandonAfterMs: got -5; takes /],
		[{ priority: 3 }, 'priority: got 3; takes a function'],
		[{ maxConcurent: 3 }, /^maxConcurent: got 3; takes nothing, for there is no such option/],
		[{ initialConcurrent: 3 }, /^initialConcurrent: got 3; takes nothing/],
	])('refuses %o', (options, message) => {
		expect(() => readBulkheadOptions(options as BulkheadOptions)).toThrow(message)
	})
})

describe('an adaptive bulkhead', () => {
	it('has these defaults', () => {
		expect(readAdaptiveBulkheadOptions({})).toEqual({
			algorithm: 'gradient',
			minConcurrent: 1,
			maxConcurrent: 200,
			initialConcurrent: 20,
			latencyTolerance: 1.5,
			latencyLimitMs: Infinity,
			maxQueue: 50,
			queueTimeoutMs: 30_000,
			abandonAfterMs: Infinity,
		})
	})

	it('takes every option', () => {
		const options: Required<Omit<AdaptiveBulkheadOptions, 'runtime' | 'classify'>> = {
			name: 'payments',
			algorithm: 'aimd',
			minConcurrent: 2,
			maxConcurrent: 40,
			initialConcurrent: 4,
			latencyTolerance: 2,
			latencyLimitMs: 500,
			maxQueue: 7,
			queueTimeoutMs: 100,
			abandonAfterMs: 1_000,
			priority,
		}
		expect(readAdaptiveBulkheadOptions(options)).toEqual(options)
	})

	it('starts at the nearest bound where the default lies outside of them', () => {
		expect(readAdaptiveBulkheadOptions({ maxConcurrent: 8 }).initialConcurrent).toBe(8)
		expect(readAdaptiveBulkheadOptions({ minConcurrent: 30 }).initialConcurrent).toBe(30)
	})

	it.each([
		[{ initialConcurrent: 30, maxConcurrent: 8 }, 'initialConcurrent: got 30; takes a number from 1 to 8'],
		[{ initialConcurrent: 3, minConcurrent: 5 }, 'initialConcurrent: got 3; takes a number from 5 to 200'],
		[{ initialConcurrent: 2.5 }, 'initialConcurrent: got 2.5; takes a whole number'],
		[{ minConcurrent: 1.5 }, 'minConcurrent: got 1.5; takes a whole number'],
		[{ maxConcurrent: 9.5 }, 'maxConcurrent: got 9.5; takes a whole number'],
		[{ maxQueue: 9.5 }, 'maxQueue: got 9.5; takes a whole number'],
		[{ minConcurrent: 9, maxConcurrent: 8 }, 'maxConcurrent: got 8; takes at least minConcurrent (9)'],
		[
			{ minConcurrent: 300 },
			'maxConcurrent: got 200; takes at least minConcurrent (300); that is the default',
		],
		[{ latencyTolerance: 0.9 }, 'latencyTolerance: got 0.9; takes a finite number, 1 or more'],
		[{ latencyLimitMs: -1 }, /^latencyLimitMs: got -1; takes /],
		[{ algorithm: 'vegas' }, "algorithm: got 'vegas'; takes one of gradient, aimd"],
		[{ algorithm: 'toString' }, "algorithm: got 'toString'; takes one of gradient, aimd"],
	])('refuses %o', (options, message) => {
		expect(() => readAdaptiveBulkheadOptions(options as AdaptiveBulkheadOptions)).toThrow(message)
	})
})
