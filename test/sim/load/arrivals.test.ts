import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Arrivals, simulate } from 'yaoki/sim'
import { EventLoop } from '../../../src/sim/kernel/event-loop.ts'
import { scheduleCalls } from '../../../src/sim/load/arrivals.ts'
import { setup, web } from '../setup.ts'

/** Returns when calls started and by which user, up to a time; each takes `takesMs`. */
function calls(arrivals: Arrivals, untilMs: number, takesMs = 0): { at: number; user: number }[] {
	const loop = new EventLoop(5, 1e7)
	const seen: { at: number; user: number }[] = []
	scheduleCalls(arrivals, 'clients.web', loop, (user, onEnd) => {
		seen.push({ at: loop.now(), user })
		if (onEnd) loop.after(takesMs, onEnd)
	})
	loop.run(untilMs)
	return seen
}

const times = (arrivals: Arrivals, untilMs: number, takesMs = 0) =>
	calls(arrivals, untilMs, takesMs).map(({ at }) => at)

describe('constant arrivals', () => {
	it('come at equal intervals, from 0 on', () => {
		expect(times({ kind: 'constant', perSecond: 4 }, 1_000)).toEqual([0, 250, 500, 750])
	})

	it('have the exact number, for any rate and length', () => {
		for (const [perSecond, seconds] of [
			[100, 10],
			[3, 1_000],
			[7, 100],
			[0.1, 1_000],
			[1_000 / 3, 30],
		] as const) {
			const expected = Math.ceil(perSecond * seconds - 1e-6)
			expect(times({ kind: 'constant', perSecond }, seconds * 1_000)).toHaveLength(expected)
		}
	})

	it('do not drift', () => {
		const perSecond = 7
		const all = times({ kind: 'constant', perSecond, fromMs: 100 }, 1e6)
		for (const [index, at] of all.entries()) expect(at).toBeCloseTo(100 + (index * 1_000) / perSecond, 9)
	})

	it('start at fromMs and end before toMs', () => {
		const window = { kind: 'constant', perSecond: 10, fromMs: 1_000, toMs: 1_500 } as const
		expect(times(window, 1e4)).toEqual([1_000, 1_100, 1_200, 1_300, 1_400])
	})

	it('are complete in a run: 10 s at 100 per second are 1,000', () => {
		const arrivals = { kind: 'constant', perSecond: 100 } as const
		expect(web(simulate(setup({ web: { arrivals }, rest: { durationMs: 10_000 } }))).calls).toBe(1_000)
	})
})

describe('poisson arrivals', () => {
	it('have the mean rate and exponential gaps', () => {
		const all = times({ kind: 'poisson', perSecond: 100 }, 1e6)
		const gaps = all.map((at, index) => at - (all[index - 1] ?? 0))
		expect(Math.abs(all.length - 100_000)).toBeLessThan(5 * Math.sqrt(100_000))
		// A share of exp(-2) of exponential gaps is longer than two means.
		const long = gaps.filter((gap) => gap > 20).length / gaps.length
		expect(Math.abs(long - Math.exp(-2))).toBeLessThan(
			5 * Math.sqrt((Math.exp(-2) * (1 - Math.exp(-2))) / 100_000),
		)
	})

	it('start at fromMs and end before toMs', () => {
		const all = times({ kind: 'poisson', perSecond: 1_000, fromMs: 500, toMs: 700 }, 1e4)
		expect(Math.min(...all)).toBeGreaterThan(500)
		expect(Math.max(...all)).toBeLessThan(700)
		expect(all.length).toBeGreaterThan(120)
	})

	it('are shifted by fromMs', () => {
		const early = times({ kind: 'poisson', perSecond: 100 }, 1_000)
		const late = times({ kind: 'poisson', perSecond: 100, fromMs: 1_000 }, 2_000)
		expect(late).toHaveLength(early.length)
		for (const [index, at] of late.entries()) expect(at).toBeCloseTo(1_000 + (early[index] ?? 0), 6)
	})
})

describe('a trace of arrivals', () => {
	it('is followed exactly, with several calls at one time', () => {
		const atMs = [3, 3, 3, 10.5, 20, 20]
		expect(times({ kind: 'trace', atMs }, 1e4)).toEqual(atMs)
		expect(times({ kind: 'trace', atMs: [] }, 1e4)).toEqual([])
	})

	it('is followed to within rounding, for any times', () => {
		fc.assert(
			fc.property(fc.array(fc.double({ min: 0, max: 1e9, noNaN: true }), { maxLength: 50 }), (some) => {
				const atMs = some.toSorted((a, b) => a - b)
				const seen = times({ kind: 'trace', atMs }, 1e10)
				expect(seen).toHaveLength(atMs.length)
				for (const [index, at] of seen.entries()) expect(at).toBeCloseTo(atMs[index] ?? 0, 5)
			}),
		)
	})
})

describe('a closed loop', () => {
	it('consists of users that wait for a result, think, and call again', () => {
		const users = calls({ kind: 'closed', users: 2, thinkMs: 5 }, 40, 10)
		expect(users.map(({ at, user }) => `${user}@${at}`)).toEqual([
			'0@0',
			'1@0',
			'0@15',
			'1@15',
			'0@30',
			'1@30',
		])
	})

	it('makes callsEach calls per user', () => {
		const all = calls({ kind: 'closed', users: 7, callsEach: 3, thinkMs: 2 }, Infinity, 10)
		expect(all).toHaveLength(21)
		for (let user = 0; user < 7; user++) expect(all.filter((call) => call.user === user)).toHaveLength(3)
	})

	it('starts users evenly within startWithinMs', () => {
		expect(times({ kind: 'closed', users: 4, callsEach: 1, startWithinMs: 100 }, 1e4)).toEqual([
			0, 25, 50, 75,
		])
	})

	it('never has more calls in flight than users', () => {
		const result = simulate(
			setup({
				api: { workers: Infinity, serviceTimeMs: { kind: 'exponential', meanMs: 20 } },
				web: { arrivals: { kind: 'closed', users: 8 } },
				rest: { durationMs: 5_000 },
			}),
		)
		expect(result.services['api']?.inFlight.mean).toBeCloseTo(8, 0)
		expect(web(result).unfinished).toBe(8)
	})

	it('slows down with the service, unlike poisson arrivals', () => {
		const served = (serviceTimeMs: number) =>
			web(
				simulate(
					setup({
						api: { serviceTimeMs },
						web: { arrivals: { kind: 'closed', users: 5 } },
						rest: { durationMs: 10_000 },
					}),
				),
			).calls
		expect([served(10), served(100)]).toEqual([1_000 + 4, 100 + 4])
	})

	it('has a random stream per user', () => {
		const thoughtful = { kind: 'closed', users: 2, thinkMs: { kind: 'exponential', meanMs: 50 } } as const
		const all = calls(thoughtful, 5_000)
		const of = (wanted: number) => all.filter(({ user }) => user === wanted).map(({ at }) => at)
		expect(of(0).slice(1, 20)).not.toEqual(of(1).slice(1, 20))
		// Another user does not change the think times of the others.
		const more = calls({ ...thoughtful, users: 3 }, 5_000)
		expect(more.filter(({ user }) => user === 1).map(({ at }) => at)).toEqual(of(1))
	})

	it('stops if a call never ends', () => {
		const hung = [{ kind: 'outage', mode: 'hang', fromMs: 105, toMs: 200 }] as const
		const result = simulate(
			setup({
				api: { faults: hung },
				web: { arrivals: { kind: 'closed', users: 1 } },
				rest: { durationMs: 1_000 },
			}),
		)
		expect(web(result)).toMatchObject({ calls: 11, good: 10, unfinished: 1 })
	})
})
