import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RetryBudget, type RetryBudgetOptions, retryBudget } from '../../../src/core/budget/retry-budget.ts'
import { virtualRuntime } from '../../../src/testing/virtual-runtime.ts'
import { command, HISTORIES, LENGTH } from '../structures/command.ts'

const HOUR = 3_600_000

/** Returns how many retries the budget allows after `requests` calls. */
function retriesAfter(requests: number, options: RetryBudgetOptions): number {
	const budget = new RetryBudget({ minRetriesPerSecond: 0, ...options })
	let retries = 0
	for (let i = 0; i < requests; i++) budget.recordRequest(0)
	for (; budget.canRetry(0); retries++) budget.recordRetry(0)
	return retries
}

describe('the retries that retryBudget allows', () => {
	it.each([
		[0.6, 10, 6],
		[0.1, 10, 1],
		[0.1, 9, 0],
		[0.3, 10, 3],
		[0.7, 10, 7],
		[0.29, 100, 29],
		[0.57, 100, 57],
		[1.1, 10, 11],
		[8.2, 10, 82],
		[1.001, 1_000, 1_001],
		[0.000001, 1_000_000, 1],
		[0, 1_000, 0],
	])('with a ratio of %s and %s calls: %s', (maxRetryRatio, requests, retries) => {
		expect(retriesAfter(requests, { maxRetryRatio })).toBe(retries)
	})
	it('a ratio of n thousandths allows exactly n retries for 1,000 calls', () => {
		for (let n = 0; n <= 1_000; n += 7)
			expect(retriesAfter(1_000, { maxRetryRatio: n / 1_000 }), String(n)).toBe(n)
	})
	it('the default allows one retry for every ten calls', () => {
		expect(retriesAfter(2_000, {})).toBe(200)
	})
	it('the default allows ten retries per second without calls', () => {
		expect(new RetryBudget().available(0)).toBe(100)
	})
	it('are the minimum or the share of the calls, whichever is greater, not their sum', () => {
		const options = { maxRetryRatio: 0.1, windowMs: 10_000, minRetriesPerSecond: 2 }
		expect(retriesAfter(100, options)).toBe(20)
		expect(retriesAfter(200, options)).toBe(20)
		expect(retriesAfter(1_000, options)).toBe(100)
	})
	it.each([
		[0.29, 100_000, 29],
		[1_000, 10_001, 10_001],
		[0.5, 1_000, 0],
		[0.7, 10_000, 7],
	])('a minimum of %s per second over %s ms allows %s', (minRetriesPerSecond, windowMs, retries) => {
		expect(retriesAfter(0, { minRetriesPerSecond, windowMs })).toBe(retries)
	})
	it('do not include calls that have left the window', () => {
		const budget = new RetryBudget({ maxRetryRatio: 0.5, windowMs: 10_000, minRetriesPerSecond: 0 })
		for (let i = 0; i < 10; i++) budget.recordRequest(0)
		expect(budget.available(9_999)).toBe(5)
		expect(budget.available(10_000)).toBe(0)
	})
	it('are all available after an idle hour', () => {
		const budget = new RetryBudget({ minRetriesPerSecond: 1 })
		for (let i = 0; i < 10; i++) budget.recordRetry(0)
		expect(budget.canRetry(0)).toBe(false)
		expect(budget.available(HOUR)).toBe(10)
	})
})

describe('retryBudget', () => {
	it('canRetry changes nothing', () => {
		const budget = new RetryBudget({ minRetriesPerSecond: 0.1 })
		expect([budget.canRetry(0), budget.canRetry(0), budget.canRetry(0)]).toEqual([true, true, true])
	})
	it('ignores outcomes', () => {
		const budget = new RetryBudget()
		for (let i = 0; i < 1_000; i++) budget.recordOutcome()
		expect(budget.available(0)).toBe(100)
	})
	it('uses its own runtime if no time is given', async () => {
		const runtime = virtualRuntime()
		const budget = retryBudget({ maxRetryRatio: 0.5, minRetriesPerSecond: 0, runtime })
		for (let i = 0; i < 4; i++) budget.recordRequest()
		budget.recordRetry()
		expect(budget.stats).toEqual({ requests: 4, retries: 1, available: 1 })
		expect(budget.canRetry()).toBe(true)
		await runtime.advance(10_000)
		expect(budget.stats).toEqual({ requests: 0, retries: 0, available: 0 })
		expect(budget.canRetry()).toBe(false)
	})
	it('update keeps the counts and the options that are left out', () => {
		const budget = new RetryBudget({ maxRetryRatio: 0.1, minRetriesPerSecond: 0 })
		for (let i = 0; i < 100; i++) budget.recordRequest(0)
		for (let i = 0; i < 10; i++) budget.recordRetry(0)
		budget.update({ maxRetryRatio: 0.2, windowMs: undefined }, 0)
		expect(budget.available(0)).toBe(10)
		budget.update({ windowMs: 60_000 }, 5_000)
		expect(budget.available(64_999)).toBe(10)
		expect(budget.available(65_000)).toBe(0)
	})
	it('keeps its settings after an update with an invalid option', () => {
		const budget = new RetryBudget()
		expect(() => budget.update({ maxRetryRatio: 1, minRetriesPerSecond: -1 })).toThrow('minRetriesPerSecond')
		expect(budget.available(0)).toBe(100)
	})
	it('update rejects another runtime', () => {
		const options = { runtime: virtualRuntime() }
		expect(() => new RetryBudget().update(options as object)).toThrow(
			'Unknown option "runtime" for retryBudget',
		)
	})
})

describe('an invalid option is rejected', () => {
	it.each([
		[{ maxRetryRatio: -0.1 }, 'Invalid option "maxRetryRatio": expected a number from 0 to 10, got -0.1'],
		[{ maxRetryRatio: 11 }, 'Invalid option "maxRetryRatio": expected a number from 0 to 10, got 11'],
		[
			{ maxRetryRatio: Number.NaN },
			'Invalid option "maxRetryRatio": expected a number from 0 to 10, got NaN',
		],
		[{ maxRetryRatio: '0.1' }, 'Invalid option "maxRetryRatio": expected a number from 0 to 10, got "0.1"'],
		[{ windowMs: 0 }, 'Invalid option "windowMs": expected a number from 1 to 86400000, got 0'],
		[{ windowMs: Infinity }, 'Invalid option "windowMs": expected a number from 1 to 86400000, got Infinity'],
		[
			{ minRetriesPerSecond: -1 },
			'Invalid option "minRetriesPerSecond": expected a number from 0 to 1000000, got -1',
		],
		[{ runtime: {} }, 'Invalid option "runtime": expected a Runtime, got [object Object]'],
		[{ ratio: 1 }, 'Unknown option "ratio" for retryBudget. Did you mean "maxRetryRatio"?'],
	])('%j', (options, message) => {
		expect(() => new RetryBudget(options as RetryBudgetOptions)).toThrow(message)
	})
})

interface Model {
	now: number
	/** In millionths. */
	ratio: number
	windowMs: number
	/** In thousandths per second. */
	rate: number
	requests: number[]
	retries: number[]
}

const counted = ({ now, windowMs }: Model, times: readonly number[]) =>
	times.filter((at) => now - at < windowMs).length

/** The documented rule in integers, which do not round. */
function isAllowed(model: Model): boolean {
	const next = BigInt(counted(model, model.retries)) + 1n
	const earned = BigInt(model.ratio) * BigInt(counted(model, model.requests))
	const floor = BigInt(model.rate) * BigInt(model.windowMs)
	return next * 1_000_000n <= earned || next * 1_000_000n <= floor
}

describe('compared with lists of all calls and retries', () => {
	it('allows a retry exactly while the minimum or the share is not exhausted', () => {
		const agree = (model: Model, real: RetryBudget) => {
			const { now } = model
			expect(real.canRetry(now)).toBe(isAllowed(model))
			// Exactly as many as available() returns.
			const retries = Array.from({ length: real.available(now) }, () => now)
			if (retries.length > 0)
				expect(isAllowed({ ...model, retries: [...model.retries, ...retries.slice(1)] })).toBe(true)
			expect(isAllowed({ ...model, retries: [...model.retries, ...retries] })).toBe(false)
		}
		const ratio = fc.integer({ min: 0, max: 2_000_000 })
		const rate = fc.integer({ min: 0, max: 1_500 })
		const commands = fc.commands<Model, RetryBudget>(
			[
				fc.integer({ min: 1, max: 30 }).map((count) =>
					command(`${count} calls`, (model, real) => {
						for (let i = 0; i < count; i++) {
							model.requests.push(model.now)
							real.recordRequest(model.now)
						}
						agree(model, real)
					}),
				),
				fc.integer({ min: 1, max: 5 }).map((count) =>
					command(`${count} retries`, (model, real) => {
						for (let i = 0; i < count && real.canRetry(model.now); i++) {
							model.retries.push(model.now)
							real.recordRetry(model.now)
						}
						agree(model, real)
					}),
				),
				// Multiples of a tenth of both windows, so that the buckets do not affect the comparison.
				fc.oneof(fc.nat(12), fc.constantFrom(1_800, 180_000)).map((steps) =>
					command(`wait ${2 * steps} s`, (model, real) => {
						model.now += steps * 2_000
						agree(model, real)
					}),
				),
				fc.tuple(ratio, rate, fc.constantFrom(10_000, 20_000)).map(([millionths, thousandths, windowMs]) =>
					command(`update(${millionths}, ${thousandths}, ${windowMs})`, (model, real) => {
						if (windowMs !== model.windowMs) {
							model.requests = new Array(counted(model, model.requests)).fill(model.now)
							model.retries = new Array(counted(model, model.retries)).fill(model.now)
						}
						Object.assign(model, { ratio: millionths, rate: thousandths, windowMs })
						const options = {
							maxRetryRatio: millionths / 1e6,
							minRetriesPerSecond: thousandths / 1e3,
							windowMs,
						}
						real.update(options, model.now)
						agree(model, real)
					}),
				),
			],
			LENGTH,
		)
		fc.assert(
			fc.property(ratio, rate, commands, (millionths, thousandths, history) => {
				const options = { maxRetryRatio: millionths / 1e6, minRetriesPerSecond: thousandths / 1e3 }
				const settings = { now: 0, ratio: millionths, windowMs: 10_000, rate: thousandths }
				fc.modelRun(
					() => ({ model: { ...settings, requests: [], retries: [] }, real: new RetryBudget(options) }),
					history,
				)
			}),
			HISTORIES,
		)
	})
})
