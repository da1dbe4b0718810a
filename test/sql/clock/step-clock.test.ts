/** test/outbox/store/sqlite/clock.test.ts shows what these rules mean for messages. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type ClockMark, stepClock } from '../../../src/sql/clock/step-clock.ts'

const HOUR = 3_600_000
const START: ClockMark = { time: 1_000_000_000, wall: 1_000_000_000, monotonic: 5_000 }

interface Marks {
	readonly stored: ClockMark
	readonly own?: ClockMark
}

const stepAfter = (elapsedMs: number, jumpMs = 0, { stored, own }: Marks = { stored: START, own: START }) =>
	stepClock(stored, own, START.wall + elapsedMs + jumpMs, START.monotonic + elapsedMs)

test('the first time of a database is the wall clock', () => {
	const step = stepClock(undefined, undefined, 777, 5)
	expect(step).toEqual({ time: 777, wall: 777, monotonic: 5, extension: undefined, isSetBack: false })
})

test('time follows the wall clock, and drift is no jump', () => {
	expect(stepAfter(1_000)).toMatchObject({ time: START.time + 1_000, extension: undefined, isSetBack: false })
	expect(stepAfter(1_000, 250).extension).toBeUndefined()
	expect(stepAfter(1_000, -250).isSetBack).toBe(false)
})

describe('a wall clock that jumps forward', () => {
	test('takes the time along, and extends what was running by the jump', () => {
		const { time, extension } = stepAfter(1_000, 2 * HOUR)
		expect(time).toBe(START.time + 1_000 + 2 * HOUR)
		expect(extension).toEqual({ from: START.time + 1_000, byMs: 2 * HOUR })
	})

	test('extends nothing if another process has recorded the jump', () => {
		const stored = { time: START.time + 2 * HOUR, wall: START.wall + 2 * HOUR, monotonic: 5_500 }
		expect(stepAfter(1_000, 2 * HOUR, { stored, own: START }).extension).toBeUndefined()
	})

	test('extends nothing if the machine was restarted, because the time in between is not known', () => {
		const step = stepClock(START, undefined, START.wall + 2 * HOUR, 0)
		expect(step).toMatchObject({ time: START.time + 2 * HOUR, extension: undefined })
	})
})

describe('a wall clock that is set back', () => {
	test('does not set the time back', () => {
		expect(stepAfter(1_000, -2 * HOUR)).toMatchObject({ time: START.time + 1_000, isSetBack: true })
	})

	test('does not set the time back for a process that starts afterwards', () => {
		expect(stepAfter(1_000, -2 * HOUR, { stored: START })).toMatchObject({
			time: START.time,
			isSetBack: true,
		})
	})

	test('lets time run slower until the wall clock has caught up', () => {
		const ahead: ClockMark = { time: START.time + 2 * HOUR, wall: START.wall, monotonic: START.monotonic }
		const at = (elapsedMs: number) => stepAfter(elapsedMs, 0, { stored: ahead }).time - START.time
		expect(at(10 * HOUR)).toBe(11 * HOUR)
		expect(at(20 * HOUR)).toBe(20 * HOUR)
		expect(at(30 * HOUR)).toBe(30 * HOUR)
	})
})

test('time never runs backwards, whatever happens to the wall clock', () => {
	const change = fc.record({ elapsedMs: fc.nat(HOUR), jumpMs: fc.integer({ min: -HOUR, max: HOUR }) })
	fc.assert(
		fc.property(fc.array(change, { maxLength: 30 }), (changes) => {
			let [mark, wall, monotonic] = [START, START.wall, START.monotonic]
			for (const { elapsedMs, jumpMs } of changes) {
				wall += elapsedMs + jumpMs
				monotonic += elapsedMs
				const step = stepClock(mark, mark, wall, monotonic)
				expect(step.time).toBeGreaterThanOrEqual(mark.time)
				mark = step
			}
		}),
	)
})
