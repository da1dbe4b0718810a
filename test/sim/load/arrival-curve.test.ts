import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { simulate } from 'yaoki/sim'
import { hasEnded } from '../../../src/sim/load/arrivals.ts'
import { RateCurve } from '../../../src/sim/load/rate-curve.ts'
import type { ArrivalCurve, RatePoint } from '../../../src/sim/scenario/arrivals-model.ts'
import { setup, web } from '../setup.ts'
import { startTimes } from './start-times.ts'

const point = (atMs: number, perSecond: number): RatePoint => ({ atMs, perSecond })

const curve = (points: readonly RatePoint[], rest: Partial<ArrivalCurve> = {}): ArrivalCurve => ({
	kind: 'curve',
	points,
	...rest,
})

const even = { spacing: 'even' } as const
const RAMP = [point(0, 0), point(10_000, 100)]
const STEPS = { interpolation: 'steps', ...even } as const

const within = (times: readonly number[], fromMs: number, toMs: number): number =>
	times.filter((at) => at >= fromMs && at < toMs).length

describe('evenly spaced calls along a curve', () => {
	it('equal constant arrivals if the rate never changes', () => {
		const constant = startTimes({ kind: 'constant', perSecond: 7 }, 100_000)
		expect(startTimes(curve([point(0, 7)], even), 100_000)).toEqual(constant)
	})

	it('follow a linear ramp: n calls after the square root of n', () => {
		const times = startTimes(curve(RAMP, even), 10_000)
		// The integral of 100 t / 10 is 5 t^2.
		expect(times).toHaveLength(500)
		for (const [index, at] of times.entries()) expect(at).toBeCloseTo(1_000 * Math.sqrt(index / 5), 6)
	})

	it('follow a falling ramp to its end, and no further', () => {
		const times = startTimes(curve([point(0, 100), point(10_000, 0)], even), 1e6)
		expect(times).toHaveLength(500)
		expect(within(times, 0, 5_000)).toBe(375)
	})

	it('follow steps, and the last rate holds', () => {
		const times = startTimes(curve([point(0, 10), point(1_000, 100), point(2_000, 1)], STEPS), 12_000)
		expect([within(times, 0, 1_000), within(times, 1_000, 2_000), within(times, 2_000, 12_000)]).toEqual([
			10, 100, 10,
		])
	})

	it('jump where two points have the same time', () => {
		const times = startTimes(
			curve([point(0, 10), point(1_000, 10), point(1_000, 50), point(2_000, 50)], even),
			2_000,
		)
		expect([within(times, 0, 1_000), within(times, 1_000, 2_000)]).toEqual([10, 50])
	})

	it('hold the first rate before the first point', () => {
		expect(startTimes(curve([point(5_000, 10)], even), 1_000)).toHaveLength(10)
	})

	it('skip a time without load', () => {
		const pause = curve([point(0, 10), point(1_000, 0), point(60_000, 10)], STEPS)
		expect(startTimes(pause, 61_000).slice(8, 12)).toEqual([800, 900, 60_000, 60_100])
	})

	it('start at fromMs and end before toMs, with the rate of that time', () => {
		const times = startTimes(curve(RAMP, { ...even, fromMs: 4_000, toMs: 6_000 }), 1e6)
		expect(times[0]).toBe(4_000)
		expect(times).toHaveLength(100)
		expect(Math.max(...times)).toBeLessThan(6_000)
	})
})

describe('a repeated curve', () => {
	it('leads from its last point to the first of the next period', () => {
		const day = curve([point(0, 0), point(500, 100)], { ...even, repeatEveryMs: 1_000 })
		// Up and down again: a triangle of 50 calls in each period.
		const times = startTimes(day, 10_000)
		for (let period = 0; period < 10; period++) {
			expect(within(times, period * 1_000, period * 1_000 + 500)).toBe(25)
			expect(within(times, period * 1_000 + 500, period * 1_000 + 1_000)).toBe(25)
		}
	})

	it('is the same from a later period on, if points do not start at 0', () => {
		const day = { points: [point(300, 20), point(700, 80)], repeatEveryMs: 1_000, ...even }
		const early = startTimes(curve(day.points, day), 1_000)
		const late = startTimes(curve(day.points, { ...day, fromMs: 5_000 }), 6_000)
		expect(late).toHaveLength(early.length)
		for (const [index, at] of late.entries()) expect(at - 5_000).toBeCloseTo(early[index] ?? 0, 6)
	})

	it('holds the last rate until the period ends, with steps', () => {
		const day = curve([point(0, 10), point(500, 100)], { ...STEPS, repeatEveryMs: 1_000 })
		expect(startTimes(day, 3_000)).toHaveLength(3 * 55)
	})

	it('is computed without visiting every period at a low rate with a short period', () => {
		const rare = curve([point(0, 0), point(1e-6, 1e-6)], { ...even, repeatEveryMs: 2e-6 })
		const [, second = 0] = startTimes(rare, 1e13)
		// Half of the highest rate: one call in two million seconds.
		expect(second / 2e9).toBeCloseTo(1, 6)
	})

	it('has no calls if it has load only at a single point', () => {
		const never = curve([point(0, 0), point(1_000, 5)], { ...STEPS, repeatEveryMs: 1_000 })
		expect(startTimes(never, 1e6)).toEqual([])
	})
})

/** Up to five points within ten seconds. */
const points = fc
	.array(fc.tuple(fc.integer({ min: 0, max: 10_000 }), fc.integer({ min: 0, max: 500 })), {
		minLength: 1,
		maxLength: 5,
	})
	.map((all) => all.toSorted(([a], [b]) => a - b).map(([at, rate]) => point(at, rate)))

/** The integral of a curve, in small steps. */
function integral(model: Omit<ArrivalCurve, 'kind'>, toMs: number): number {
	const rate = (ms: number): number => {
		const at = model.repeatEveryMs === undefined ? ms : ms % model.repeatEveryMs
		const shift = model.repeatEveryMs ?? Infinity
		const all = [
			...model.points.map((one) => point(one.atMs - shift, one.perSecond)),
			...model.points,
			...model.points.map((one) => point(one.atMs + shift, one.perSecond)),
		]
		const next = all.findIndex(({ atMs }) => atMs > at)
		const [before, after] = [all[next === -1 ? all.length - 1 : next - 1], all[next]]
		if (before === undefined || before.atMs === -Infinity) return after?.perSecond ?? 0
		if (after === undefined || after.atMs === Infinity || model.interpolation === 'steps')
			return before.perSecond
		return (
			before.perSecond +
			((after.perSecond - before.perSecond) * (at - before.atMs)) / (after.atMs - before.atMs)
		)
	}
	let sum = 0
	for (let ms = 0; ms < toMs; ms++) sum += rate(ms + 0.5) / 1_000
	return sum
}

describe('the number of calls', () => {
	it('equals the integral of the rate, for any curve', () => {
		fc.assert(
			fc.property(
				points,
				fc.constantFrom('linear' as const, 'steps' as const),
				fc.constantFrom(undefined, 10_000, 13_000),
				fc.integer({ min: 1, max: 30_000 }),
				(all, interpolation, repeatEveryMs, toMs) => {
					const model = { points: all, interpolation, repeatEveryMs }
					const calls = startTimes(curve(all, { ...model, ...even }), toMs).length
					// One call at the start, and the rest of a call at the end.
					expect(Math.abs(calls - integral(model, toMs) - 0.5)).toBeLessThan(1.5)
				},
			),
			{ numRuns: 60 },
		)
	})

	it('is the same in one stretch and in many', () => {
		const whole = new RateCurve({ points: RAMP })
		const parts = new RateCurve({ points: RAMP })
		for (let call = 0; call < 400; call++) parts.next(1)
		expect(parts.next(0)).toBeCloseTo(whole.next(400), 6)
	})
})

describe('random calls along a curve', () => {
	it('have the times of poisson arrivals if the rate never changes', () => {
		const poisson = startTimes({ kind: 'poisson', perSecond: 50 }, 10_000)
		const times = startTimes(curve([point(0, 50)]), 10_000)
		expect(times).toHaveLength(poisson.length)
		for (const [index, at] of times.entries()) expect(at).toBeCloseTo(poisson[index] ?? 0, 6)
	})

	it('have a number per stretch with the mean and the variance of a Poisson distribution', () => {
		// 20 stretches of a ramp, 200 seeds: the sum of squared deviations over means is chi-square with 4,000 degrees of freedom.
		const edges = Array.from({ length: 20 }, (_, index) => index * 500)
		const expected = edges.map((from) => (5 * ((from + 500) ** 2 - from ** 2)) / 1e6)
		let chiSquare = 0
		for (let seed = 0; seed < 200; seed++) {
			const times = startTimes(curve(RAMP), 10_000, seed)
			for (const [index, from] of edges.entries()) {
				const mean = expected[index] ?? 0
				chiSquare += (within(times, from, from + 500) - mean) ** 2 / mean
			}
		}
		// Five standard deviations; that of a count with mean m adds 1 / m to the variance of its square.
		const sd = Math.sqrt(200 * expected.reduce((sum, mean) => sum + 2 + 1 / mean, 0))
		expect(Math.abs(chiSquare - 4_000)).toBeLessThan(5 * sd)
	})

	it('do not change before the point where the curve changes', () => {
		const one = startTimes(curve([point(0, 50), point(5_000, 50), point(10_000, 500)]), 5_000)
		const other = startTimes(curve([point(0, 50), point(5_000, 50), point(10_000, 0)]), 5_000)
		expect(one).toEqual(other)
	})
})

it('a curve that ends at 0, or with toMs, lets a run end when nothing is left to do', () => {
	const run = (arrivals: ArrivalCurve) =>
		simulate(setup({ api: { workers: 9 }, web: { arrivals }, rest: { until: 'idle' } }))
	expect(web(run(curve([point(0, 100), point(10_000, 0)], even)))).toMatchObject({ calls: 500, good: 500 })
	expect(web(run(curve([point(0, 100)], { ...even, toMs: 1_000 })))).toMatchObject({ calls: 100 })
	expect(() => run(curve([point(0, 0), point(100, 10)]))).toThrow('arrivals never end')
	expect(() => run(curve([point(0, 0), point(100, 10)], { repeatEveryMs: 200 }))).toThrow('never end')
})

it('a curve has ended when its rate stays 0, or at toMs', () => {
	const falling = [point(0, 100), point(10_000, 0)]
	const ended = (model: ArrivalCurve) => [5_000, 9_999, 10_000, 1e9].map((now) => hasEnded(model, 0, now))
	expect(ended(curve(falling))).toEqual([false, false, true, true])
	expect(ended(curve(falling, { toMs: 5_000 }))).toEqual([true, true, true, true])
	expect(ended(curve(falling, { repeatEveryMs: 10_000 }))).toEqual([false, false, false, false])
	expect(ended(curve(RAMP))).toEqual([false, false, false, false])
})
