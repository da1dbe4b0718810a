import { describe, expect, it } from 'vitest'
import {
	type AdaptiveBulkheadOptions,
	type BulkheadOptions,
	readAdaptiveBulkheadOptions,
	readBulkheadOptions,
} from '../../../src/core/bulkhead/options.ts'

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

	it('accepts every option', () => {
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
		[{ maxConcurrent: 0 }, 'Invalid option "maxConcurrent": expected an integer, 1 or more, got 0'],
		[{ maxConcurrent: 2.5 }, 'Invalid option "maxConcurrent": expected an integer, 1 or more, got 2.5'],
		[
			{ maxConcurrent: Infinity },
			'Invalid option "maxConcurrent": expected an integer, 1 or more, got Infinity',
		],
		[{ maxQueue: 0.5 }, 'Invalid option "maxQueue": expected an integer, 0 or more, got 0.5'],
		[{ maxQueue: -1 }, /^Invalid option "maxQueue": expected .*, got -1/],
		[{ queueTimeoutMs: Number.NaN }, /^Invalid option "queueTimeoutMs": expected .*, got NaN/],
		[{ abandonAfterMs: -5 }, /^Invalid option "abandonAfterMs": expected .*, got -5/],
		[{ priority: 3 }, 'Invalid option "priority": expected a function, got 3'],
		[{ maxConcurent: 3 }, /^Unknown option "maxConcurent" for bulkhead\. Did you mean "maxConcurrent"\?$/],
		[{ initialConcurrent: 3 }, /^Unknown option "initialConcurrent" for bulkhead\./],
	])('rejects %o', (options, message) => {
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

	it('accepts every option', () => {
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

	it('starts at the nearest bound if the default is outside', () => {
		expect(readAdaptiveBulkheadOptions({ maxConcurrent: 8 }).initialConcurrent).toBe(8)
		expect(readAdaptiveBulkheadOptions({ minConcurrent: 30 }).initialConcurrent).toBe(30)
	})

	it.each([
		[
			{ initialConcurrent: 30, maxConcurrent: 8 },
			'Invalid option "initialConcurrent": expected a number from 1 to 8, got 30',
		],
		[
			{ initialConcurrent: 3, minConcurrent: 5 },
			'Invalid option "initialConcurrent": expected a number from 5 to 200, got 3',
		],
		[
			{ initialConcurrent: 2.5 },
			'Invalid option "initialConcurrent": expected an integer, 1 or more, got 2.5',
		],
		[{ minConcurrent: 1.5 }, 'Invalid option "minConcurrent": expected an integer, 1 or more, got 1.5'],
		[{ maxConcurrent: 9.5 }, 'Invalid option "maxConcurrent": expected an integer, 1 or more, got 9.5'],
		[{ maxQueue: 9.5 }, 'Invalid option "maxQueue": expected an integer, 0 or more, got 9.5'],
		[
			{ minConcurrent: 9, maxConcurrent: 8 },
			'Invalid option "maxConcurrent": expected at least minConcurrent (9), got 8',
		],
		[
			{ minConcurrent: 300 },
			'Invalid option "maxConcurrent": expected at least minConcurrent (300) instead of the default, got 200',
		],
		[
			{ latencyTolerance: 0.9 },
			'Invalid option "latencyTolerance": expected a finite number, 1 or more, got 0.9',
		],
		[{ latencyLimitMs: -1 }, /^Invalid option "latencyLimitMs": expected .*, got -1/],
		[{ algorithm: 'vegas' }, 'Invalid option "algorithm": expected one of gradient, aimd, got "vegas"'],
		[{ algorithm: 'toString' }, 'Invalid option "algorithm": expected one of gradient, aimd, got "toString"'],
	])('rejects %o', (options, message) => {
		expect(() => readAdaptiveBulkheadOptions(options as AdaptiveBulkheadOptions)).toThrow(message)
	})
})
