import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { EventLoop } from '../../../src/sim/kernel/event-loop.ts'

const worldOf = (seed: number | string = 1, maxEvents = 1e6) => new EventLoop(seed, maxEvents)
const draws = (random: () => number, count = 20) => Array.from({ length: count }, random)

describe('events', () => {
	it('happen by their time, and those of one time in the order in which they were asked for', () => {
		fc.assert(
			fc.property(fc.array(fc.nat(5), { maxLength: 60 }), (times) => {
				const world = worldOf()
				const seen: [number, number][] = []
				for (const [sequence, time] of times.entries())
					world.after(time, () => seen.push([world.now(), sequence]))
				world.run(Infinity)
				const expected = times.map((time, sequence) => [time, sequence] as const)
				expect(seen).toEqual(expected.sort((a, b) => a[0] - b[0] || a[1] - b[1]))
			}),
		)
	})

	it('happen up to a time and not at it, so that two stretches have no moment in common', () => {
		const world = worldOf()
		const seen: number[] = []
		for (const time of [1, 2, 2, 3]) world.after(time, () => seen.push(time))
		world.run(2)
		expect(seen).toEqual([1])
		world.run(3)
		expect(seen).toEqual([1, 2, 2])
		expect(world.hasEvents).toBe(true)
		world.run(3.000_000_1)
		expect(seen).toEqual([1, 2, 2, 3])
		expect([world.hasEvents, world.events]).toEqual([false, 4])
	})

	it('that would come after all time never do', () => {
		const world = worldOf()
		world.after(Infinity, () => expect.unreachable())
		world.run(Infinity)
		expect(world.now()).toBe(0)
	})

	it('end at the limit, and so do requests', () => {
		const world = worldOf(1, 5)
		const again = () => world.after(0, again)
		again()
		world.run(Infinity)
		expect([world.events, world.isExhausted]).toEqual([5, true])

		const asked = worldOf(1, 3)
		expect([asked.countRequest(), asked.countRequest(), asked.countRequest()]).toEqual([true, true, false])
		asked.after(1, () => expect.unreachable())
		asked.run(Infinity)
	})
})

describe('a stream', () => {
	it('is the same for the same seed and name', () => {
		expect(draws(worldOf(7).stream('a'))).toEqual(draws(worldOf(7).stream('a')))
	})

	it('is another for another seed or another name', () => {
		const a = draws(worldOf(7).stream('a'))
		expect(draws(worldOf(8).stream('a'))).not.toEqual(a)
		expect(draws(worldOf(7).stream('b'))).not.toEqual(a)
	})

	it('does not depend on which others there are, or how often those draw', () => {
		const world = worldOf(7)
		draws(world.stream('another'), 1_000)
		expect(draws(world.stream('a'))).toEqual(draws(worldOf(7).stream('a')))
	})

	it('draws evenly from 0 to 1, and neighbours have nothing to do with each other', () => {
		const pairs = Array.from({ length: 5_000 }, (_, index) => {
			const [first = 0] = draws(worldOf(index).stream('x'), 1)
			const [second = 0] = draws(worldOf(index + 1).stream('x'), 1)
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
	it('shares the clock with all others and has a chance of its own', () => {
		const world = worldOf(7)
		const [one, other] = [world.runtime('one'), world.runtime('other')]
		const wall = one.wallNow()
		world.after(25, () => {})
		world.run(Infinity)
		expect([one.now(), other.now(), one.wallNow() - wall]).toEqual([25, 25, 25])
		expect(one.timerSource?.()).toBe(other.timerSource?.())
		expect(draws(() => one.random())).toEqual(draws(worldOf(7).stream('one')))
		expect(draws(() => one.random())).not.toEqual(draws(() => other.random()))
	})

	it('wakes who set a timer, unless it was cancelled', () => {
		const world = worldOf()
		const seen: string[] = []
		const runtime = world.runtime('x')
		runtime.setTimer(10, () => seen.push('kept'))
		runtime.setTimer(5, () => expect.unreachable())()
		world.run(Infinity)
		expect(seen).toEqual(['kept'])
	})

	it('does not let anybody look at the clock for ever within one event', () => {
		const world = worldOf(1, 10)
		const runtime = world.runtime('x')
		world.after(1, () => {
			for (;;) runtime.now()
		})
		expect(() => world.run(Infinity)).toThrow('goes round and round')
		expect(world.isExhausted).toBe(true)
	})
})

it('what is made once is the same for all who ask by its name', () => {
	const world = worldOf()
	const made = world.once('budget', () => ({ left: 3 }))
	expect(world.once('budget', () => ({ left: 9 }))).toBe(made)
	expect(world.once('breaker', () => ({ left: 9 }))).not.toBe(made)
	expect(worldOf().once('budget', () => ({ left: 9 }))).toEqual({ left: 9 })
})
