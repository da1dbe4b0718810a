import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { TimelineBins } from '../../../src/sim/measure/timeline-bins.ts'
import { sum } from '../setup.ts'

const ascending = fc
	.array(fc.double({ min: 0, max: 1e6, noNaN: true }), { minLength: 1, maxLength: 100 })
	.map((times) => times.toSorted((a, b) => a - b))

describe('steps', () => {
	it('count events by time', () => {
		const steps = new TimelineBins(100)
		const channel = steps.channel()
		for (const time of [0, 99.9, 100, 250]) channel.count(time)
		expect(channel.values(steps.countUntil(400))).toEqual([2, 1, 1, 0])
	})

	it('are at most 240, and become longer', () => {
		const steps = new TimelineBins(1)
		const channel = steps.channel()
		for (let time = 0; time < 1_000; time++) channel.count(time)
		expect([steps.stepMs, steps.countUntil(1_000)]).toEqual([8, 125])
		expect(channel.values(125)).toEqual(Array.from({ length: 125 }, () => 8))
	})

	it('are not merged if a run fills them exactly', () => {
		const steps = new TimelineBins(100)
		steps.channel().count(23_999)
		expect([steps.countUntil(24_000), steps.stepMs]).toEqual([240, 100])
		expect([steps.countUntil(24_000.1), steps.stepMs]).toEqual([121, 200])
	})

	it('keep the total when they are merged', () => {
		fc.assert(
			fc.property(ascending, fc.double({ min: 1, max: 1_000, noNaN: true }), (times, stepMs) => {
				const [early, late] = [new TimelineBins(stepMs), new TimelineBins(stepMs)]
				const [one, other] = [early.channel(), late.channel()]
				const end = times.at(-1) ?? 0
				// One is read during the run, the other only at the end.
				for (const [index, time] of times.entries()) {
					one.count(time)
					expect(sum(one.values(early.countUntil(time)))).toBe(index + 1)
				}
				for (const time of times) other.count(time)
				expect(one.values(early.countUntil(end))).toEqual(other.values(late.countUntil(end)))
				expect(early.stepMs).toBe(late.stepMs)
				expect(one.values(early.countUntil(end)).length).toBeLessThanOrEqual(240)
			}),
		)
	})

	it('keep their maximum when they are merged', () => {
		fc.assert(
			fc.property(ascending, (times) => {
				const steps = new TimelineBins(1)
				const channel = steps.channel('max')
				for (const [index, time] of times.entries()) channel.raise(time, (index * 7_919) % 100)
				const peak = Math.max(...times.map((_, index) => (index * 7_919) % 100))
				expect(Math.max(...channel.values(steps.countUntil(times.at(-1) ?? 0)))).toBe(peak)
			}),
		)
	})

	it('are the same for all channels', () => {
		const steps = new TimelineBins(1)
		const [one, other] = [steps.channel(), steps.channel()]
		one.count(3)
		other.count(100_000)
		expect(one.values(steps.countUntil(100_000))).toHaveLength(other.values(steps.countUntil(100_000)).length)
	})

	it('count events at the very end', () => {
		const steps = new TimelineBins(100)
		const channel = steps.channel()
		channel.count(0)
		expect(channel.values(steps.countUntil(200))).toEqual([1, 0])
		channel.count(200)
		expect(channel.values(steps.countUntil(200))).toEqual([1, 0, 1])
	})

	it('end later than any time within them, for any length', () => {
		fc.assert(
			fc.property(fc.double({ min: 1, max: 10, noNaN: true }), (stepMs) => {
				const steps = new TimelineBins(stepMs)
				let time = 0
				for (let index = 0; index < 300; index++) {
					const next = steps.nextEdge(time)
					expect(next).toBeGreaterThan(time)
					expect(next - time).toBeLessThanOrEqual(2 * steps.stepMs)
					time = next
				}
			}),
		)
	})
})
