import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { EventLoop } from '../../../src/sim/kernel/event-loop.ts'

const newLoop = (seed: number | string = 1, maxEvents = 1e6) => new EventLoop(seed, maxEvents)
const draws = (random: () => number, count = 20) => Array.from({ length: count }, random)

describe('events', () => {
	it('run by time, and in the order of scheduling at equal times', () => {
		fc.assert(
			fc.property(fc.array(fc.nat(5), { maxLength: 60 }), (times) => {
				const loop = newLoop()
				const seen: [number, number][] = []
				for (const [sequence, time] of times.entries())
					loop.after(time, () => seen.push([loop.now(), sequence]))
				loop.run(Infinity)
				const expected = times.map((time, sequence) => [time, sequence] as const)
				expect(seen).toEqual(expected.sort((a, b) => a[0] - b[0] || a[1] - b[1]))
			}),
		)
	})

	it('run up to a time, exclusive, so that slices do not overlap', () => {
		const loop = newLoop()
		const seen: number[] = []
		for (const time of [1, 2, 2, 3]) loop.after(time, () => seen.push(time))
		loop.run(2)
		expect(seen).toEqual([1])
		loop.run(3)
		expect(seen).toEqual([1, 2, 2])
		expect(loop.hasEvents).toBe(true)
		loop.run(3.000_000_1)
		expect(seen).toEqual([1, 2, 2, 3])
		expect([loop.hasEvents, loop.events]).toEqual([false, 4])
	})

	it('never run if scheduled at Infinity', () => {
		const loop = newLoop()
		loop.after(Infinity, () => expect.unreachable())
		loop.run(Infinity)
		expect(loop.now()).toBe(0)
	})

	it('stop at the limit, and so do requests', () => {
		const loop = newLoop(1, 5)
		const again = () => loop.after(0, again)
		again()
		loop.run(Infinity)
		expect([loop.events, loop.isExhausted]).toEqual([5, true])

		const asked = newLoop(1, 3)
		expect([asked.countRequest(), asked.countRequest(), asked.countRequest()]).toEqual([true, true, false])
		asked.after(1, () => expect.unreachable())
		asked.run(Infinity)
	})
})

describe('a stream', () => {
	it('is the same for the same seed and name', () => {
		expect(draws(newLoop(7).stream('a'))).toEqual(draws(newLoop(7).stream('a')))
	})

	it('differs for another seed or another name', () => {
		const a = draws(newLoop(7).stream('a'))
		expect(draws(newLoop(8).stream('a'))).not.toEqual(a)
		expect(draws(newLoop(7).stream('b'))).not.toEqual(a)
	})

	it('does not depend on other streams', () => {
		const loop = newLoop(7)
		draws(loop.stream('another'), 1_000)
		expect(draws(loop.stream('a'))).toEqual(draws(newLoop(7).stream('a')))
	})

	it('is uniform, and neighboring seeds are uncorrelated', () => {
		const pairs = Array.from({ length: 5_000 }, (_, index) => {
			const [first = 0] = draws(newLoop(index).stream('x'), 1)
			const [second = 0] = draws(newLoop(index + 1).stream('x'), 1)
			return [first, second] as const
		})
		const mean = pairs.reduce((sum, [first]) => sum + first, 0) / pairs.length
		const covariance = pairs.reduce((sum, [a, b]) => sum + (a - 0.5) * (b - 0.5), 0) / pairs.length
		// Five standard errors each.
		expect(Math.abs(mean - 0.5)).toBeLessThan(5 * Math.sqrt(1 / 12 / 5_000))
		expect(Math.abs(covariance)).toBeLessThan((5 * (1 / 12)) / Math.sqrt(5_000))
	})
})

describe('a runtime', () => {
	it('shares the clock with others and has its own random stream', () => {
		const loop = newLoop(7)
		const [one, other] = [loop.runtime('one'), loop.runtime('other')]
		const wall = one.wallNow()
		loop.after(25, () => {})
		loop.run(Infinity)
		expect([one.now(), other.now(), one.wallNow() - wall]).toEqual([25, 25, 25])
		expect(one.timerSource?.()).toBe(other.timerSource?.())
		expect(draws(() => one.random())).toEqual(draws(newLoop(7).stream('one')))
		expect(draws(() => one.random())).not.toEqual(draws(() => other.random()))
	})

	it('fires timers, unless they were cancelled', () => {
		const loop = newLoop()
		const seen: string[] = []
		const runtime = loop.runtime('x')
		runtime.setTimer(10, () => seen.push('kept'))
		runtime.setTimer(5, () => expect.unreachable())()
		loop.run(Infinity)
		expect(seen).toEqual(['kept'])
	})

	it('throws if the clock is read endlessly within one event', () => {
		const loop = newLoop(1, 10)
		const runtime = loop.runtime('x')
		loop.after(1, () => {
			for (;;) runtime.now()
		})
		expect(() => loop.run(Infinity)).toThrow('loops forever')
		expect(loop.isExhausted).toBe(true)
	})
})

it('once returns the same value for the same name', () => {
	const loop = newLoop()
	const made = loop.once('budget', () => ({ left: 3 }))
	expect(loop.once('budget', () => ({ left: 9 }))).toBe(made)
	expect(loop.once('breaker', () => ({ left: 9 }))).not.toBe(made)
	expect(newLoop().once('budget', () => ({ left: 9 }))).toEqual({ left: 9 })
})
