import fc from 'fast-check'
import { expect, it } from 'vitest'
import { TimeWeightedCount } from '../../../src/sim/measure/time-weighted-count.ts'

it('the area is the sum of the times that each item was present', () => {
	const stay = fc.tuple(fc.nat(1_000), fc.nat(100)).map(([from, long]) => [from, from + long] as const)
	fc.assert(
		fc.property(fc.array(stay, { maxLength: 40 }), (stays) => {
			const presence = new TimeWeightedCount()
			const moves = stays.flatMap(([from, to]) => [
				{ at: from, enter: true },
				{ at: to, enter: false },
			])
			// At equal times, entering comes first.
			for (const { at, enter } of moves.sort((a, b) => a.at - b.at || Number(b.enter) - Number(a.enter)))
				if (enter) presence.enter(at)
				else presence.leave(at)
			expect(presence.area(2_000)).toBe(stays.reduce((sum, [from, to]) => sum + to - from, 0))
			expect([presence.current, presence.entered]).toEqual([0, stays.length])
		}),
	)
})

it('items still present count up to now, and reading changes nothing', () => {
	const presence = new TimeWeightedCount()
	presence.enter(10)
	presence.enter(20)
	expect([presence.area(25), presence.area(25), presence.area(30)]).toEqual([20, 20, 30])
	presence.leave(30)
	expect([presence.area(40), presence.current, presence.max]).toEqual([40, 1, 2])
})
