import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ThrottleDecision } from '../../../src/core/throttle/decision.ts'
import { type AdaptiveThrottleOptions, readThrottleOptions } from '../../../src/core/throttle/options.ts'
import { command, HISTORIES, LENGTH } from '../structures/command.ts'

const HOUR = 3_600_000
const having = (requests: number, accepts: number, k = 2) => {
	const throttle = new ThrottleDecision(k, 120_000)
	for (let i = 0; i < requests; i++) throttle.request(0)
	for (let i = 0; i < accepts; i++) throttle.accept(0)
	return throttle
}

describe('ThrottleDecision', () => {
	it('rejects nothing before the first call', () => {
		expect(having(0, 0).probability(0)).toBe(0)
	})
	it('rejects nothing while half of the calls are accepted', () => {
		expect(having(100, 100).probability(0)).toBe(0)
		expect(having(100, 50).probability(0)).toBe(0)
		expect(having(100, 49).probability(0)).toBe(2 / 101)
	})
	it('rejects nearly all calls, but never all, when none is accepted', () => {
		expect(having(1, 0).probability(0)).toBe(0.5)
		expect(having(99, 0).probability(0)).toBe(0.99)
		expect(having(100_000, 0).probability(0)).toBeLessThan(1)
	})
	it('rejects sooner with a smaller k', () => {
		expect(having(100, 50, 1).probability(0)).toBe(50 / 101)
		expect(having(100, 50, 1.5).probability(0)).toBe(25 / 101)
	})
	it('forgets calls after two minutes, and after an idle hour', () => {
		const throttle = having(100, 0)
		expect(throttle.probability(119_999)).toBeGreaterThan(0.9)
		expect(throttle.probability(120_000)).toBe(0)
		expect(having(100, 0).probability(HOUR)).toBe(0)
	})
	it('keeps its counts when its settings change', () => {
		const throttle = having(100, 50)
		throttle.update(1, 10_000, 0)
		expect(throttle.probability(9_999)).toBe(50 / 101)
		expect(throttle.probability(10_000)).toBe(0)
	})
})

describe('throttle options', () => {
	it('default to those of the SRE book', () => {
		expect(readThrottleOptions({})).toEqual({ k: 2, windowMs: 120_000 })
	})
	it.each([
		[{ k: 0.9 }, 'Invalid option "k": expected a number from 1 to 1000000, got 0.9'],
		[{ k: Number.NaN }, 'Invalid option "k": expected a number from 1 to 1000000, got NaN'],
		[{ windowMs: 0 }, 'Invalid option "windowMs": expected a number from 1 to 86400000, got 0'],
		[{ classify: 1 }, 'Invalid option "classify": expected a function, got 1'],
		[{ K: 2 }, 'Unknown option "K" for adaptiveThrottle. Did you mean "k"?'],
	])('are rejected if invalid: %j', (options, message) => {
		expect(() => readThrottleOptions(options as AdaptiveThrottleOptions)).toThrow(message)
	})
})

interface Model {
	now: number
	k: number
	requests: number[]
	accepts: number[]
}

describe('compared with lists of all calls', () => {
	it('the probability is the formula over the calls in the window', () => {
		const agree = ({ now, k, requests, accepts }: Model, real: ThrottleDecision) => {
			const counted = (times: readonly number[]) => times.filter((at) => now - at < 10_000).length
			const expected = (counted(requests) - k * counted(accepts)) / (counted(requests) + 1)
			const probability = real.probability(now)
			expect(probability).toBe(expected > 0 ? expected : 0)
			expect(probability).toBeLessThan(1)
		}
		const commands = fc.commands<Model, ThrottleDecision>(
			[
				fc.tuple(fc.nat(20), fc.nat(20)).map(([requests, accepts]) =>
					command(`${requests} calls, ${accepts} accepted`, (model, real) => {
						for (let i = 0; i < requests; i++) real.request(model.now)
						for (let i = 0; i < accepts; i++) real.accept(model.now)
						model.requests.push(...new Array<number>(requests).fill(model.now))
						model.accepts.push(...new Array<number>(accepts).fill(model.now))
						agree(model, real)
					}),
				),
				// Multiples of a tenth of the window, so that the buckets do not affect the comparison.
				fc.oneof(fc.nat(12), fc.constant(3_600)).map((seconds) =>
					command(`wait ${seconds} s`, (model, real) => {
						model.now += seconds * 1_000
						agree(model, real)
					}),
				),
				fc.double({ min: 1, max: 5, noNaN: true }).map((k) =>
					command(`update(${k})`, (model, real) => {
						model.k = k
						real.update(k, 10_000, model.now)
						agree(model, real)
					}),
				),
			],
			LENGTH,
		)
		fc.assert(
			fc.property(commands, (history) => {
				fc.modelRun(
					() => ({
						model: { now: 0, k: 2, requests: [], accepts: [] },
						real: new ThrottleDecision(2, 10_000),
					}),
					history,
				)
			}),
			HISTORIES,
		)
	})
})
