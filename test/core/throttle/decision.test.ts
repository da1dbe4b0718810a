import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ThrottleDecision } from '../../../src/core/throttle/decision.ts'
import {
	type AdaptiveThrottleOptions,
	readThrottleOptions,
	type ThrottleSettings,
} from '../../../src/core/throttle/options.ts'
import { command, HISTORIES, LENGTH } from '../structures/command.ts'

const HOUR = 3_600_000
/** The formula of the SRE book without limits. */
const unlimited = { maxRejectionRate: 1, minimumRequests: 1 }
const having = (requests: number, accepts: number, options: AdaptiveThrottleOptions = {}) => {
	const throttle = new ThrottleDecision(readThrottleOptions({ ...unlimited, ...options }))
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
		expect(having(100, 50, { k: 1 }).probability(0)).toBe(50 / 101)
		expect(having(100, 50, { k: 1.5 }).probability(0)).toBe(25 / 101)
	})
	it('rejects at most maxRejectionRate', () => {
		expect(having(1_000, 0, { maxRejectionRate: 0.9 }).probability(0)).toBe(0.9)
		expect(having(100, 49, { maxRejectionRate: 0.9 }).probability(0)).toBe(2 / 101)
		expect(having(1_000, 0, { maxRejectionRate: 0 }).probability(0)).toBe(0)
	})
	it('rejects nothing before minimumRequests calls', () => {
		expect(having(9, 0, { minimumRequests: 10 }).probability(0)).toBe(0)
		expect(having(10, 0, { minimumRequests: 10 }).probability(0)).toBe(10 / 11)
	})
	it('forgets calls after two minutes, and after an idle hour', () => {
		const throttle = having(100, 0)
		expect(throttle.probability(119_999)).toBeGreaterThan(0.9)
		expect(throttle.probability(120_000)).toBe(0)
		expect(having(100, 0).probability(HOUR)).toBe(0)
	})
	it('keeps its counts when its settings change', () => {
		const throttle = having(100, 50)
		throttle.update(readThrottleOptions({ ...unlimited, k: 1, windowMs: 10_000 }), 0)
		expect(throttle.probability(9_999)).toBe(50 / 101)
		expect(throttle.probability(10_000)).toBe(0)
	})
})

describe('throttle options', () => {
	it('default to those of the SRE book, with limits', () => {
		expect(readThrottleOptions({})).toEqual({
			k: 2,
			windowMs: 120_000,
			maxRejectionRate: 0.9,
			minimumRequests: 10,
		})
	})
	it.each([
		[{ k: 0.9 }, 'Invalid option "k": expected a number from 1 to 1000000, got 0.9'],
		[{ k: Number.NaN }, 'Invalid option "k": expected a number from 1 to 1000000, got NaN'],
		[{ windowMs: 0 }, 'Invalid option "windowMs": expected a number from 1 to 86400000, got 0'],
		[{ maxRejectionRate: 1.1 }, 'Invalid option "maxRejectionRate": expected a number from 0 to 1, got 1.1'],
		[{ minimumRequests: 1.5 }, 'Invalid option "minimumRequests": expected an integer, 1 or more, got 1.5'],
		[{ minimumRequests: 0 }, 'Invalid option "minimumRequests": expected an integer, 1 or more, got 0'],
		[{ classify: 1 }, 'Invalid option "classify": expected a function, got 1'],
		[{ K: 2 }, 'Unknown option "K" for adaptiveThrottle. Did you mean "k"?'],
	])('are rejected if invalid: %j', (options, message) => {
		expect(() => readThrottleOptions(options as AdaptiveThrottleOptions)).toThrow(message)
	})
})

interface Model {
	now: number
	settings: ThrottleSettings
	requests: number[]
	accepts: number[]
}

const settings: fc.Arbitrary<ThrottleSettings> = fc.record({
	k: fc.double({ min: 1, max: 5, noNaN: true }),
	windowMs: fc.constant(10_000),
	maxRejectionRate: fc.constantFrom(0.5, 0.9, 1),
	minimumRequests: fc.constantFrom(1, 5, 30),
})

describe('compared with lists of all calls', () => {
	it('the probability is the formula over the calls in the window', () => {
		const agree = ({ now, settings, requests, accepts }: Model, real: ThrottleDecision) => {
			const { k, maxRejectionRate, minimumRequests } = settings
			const counted = (times: readonly number[]) => times.filter((at) => now - at < 10_000).length
			const expected = (counted(requests) - k * counted(accepts)) / (counted(requests) + 1)
			const probability = real.probability(now)
			if (counted(requests) < minimumRequests || expected <= 0) expect(probability).toBe(0)
			else expect(probability).toBe(expected > maxRejectionRate ? maxRejectionRate : expected)
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
				settings.map((changed) =>
					command(`update(${JSON.stringify(changed)})`, (model, real) => {
						model.settings = changed
						real.update(changed, model.now)
						agree(model, real)
					}),
				),
			],
			LENGTH,
		)
		fc.assert(
			fc.property(settings, commands, (given, history) => {
				fc.modelRun(
					() => ({
						model: { now: 0, settings: given, requests: [], accepts: [] },
						real: new ThrottleDecision(given),
					}),
					history,
				)
			}),
			HISTORIES,
		)
	})
})
