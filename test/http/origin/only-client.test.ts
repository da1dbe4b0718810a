import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { play, type ServerSettings, type Wish } from './counting-server.ts'

const WINDOW_MS = 10_000

const server: fc.Arbitrary<ServerSettings> = fc
	.record({
		limit: fc.integer({ min: 1, max: 8 }),
		windowMs: fc.constant(WINDOW_MS),
		phaseMs: fc.option(fc.integer({ min: 0, max: WINDOW_MS - 1 }), { nil: undefined }),
		tellsWindow: fc.boolean(),
	})
	// With fixed windows the first response may arrive late in a window, so the window's length must be reported.
	.map((settings) => (settings.phaseMs === undefined ? settings : { ...settings, tellsWindow: true }))

/** Requests travel for up to most of a window, answers for less than two resets may differ by. */
const wish = (isLost: fc.Arbitrary<boolean>): fc.Arbitrary<Wish> =>
	fc.record({
		at: fc.oneof(fc.integer({ min: 0, max: 5 * WINDOW_MS }), fc.integer({ min: 0, max: 20 })),
		upMs: fc.oneof(fc.integer({ min: 0, max: 50 }), fc.integer({ min: 0, max: WINDOW_MS - 2_000 })),
		downMs: fc.oneof(fc.integer({ min: 0, max: 50 }), fc.integer({ min: 0, max: 1_900 })),
		isLost,
	})
const wishes = (isLost: fc.Arbitrary<boolean>) => fc.array(wish(isLost), { minLength: 1, maxLength: 60 })

describe('the only client of a server that counts', () => {
	it('never sends more than the limit in a window, however slow and out of order the responses are', () => {
		fc.assert(
			fc.property(server, wishes(fc.constant(false)), (settings, all) => {
				expect(play(settings, all).most).toBeLessThanOrEqual(settings.limit)
			}),
			{ numRuns: 2_000 },
		)
	})

	it('sends everything, also if responses are lost, and never waits too long', () => {
		fc.assert(
			fc.property(server, wishes(fc.boolean()), (settings, all) => {
				const { sentAt, oddWaits } = play(settings, all)
				expect(oddWaits).toEqual([])
				expect(sentAt).toHaveLength(all.length)
			}),
			{ numRuns: 500 },
		)
	})

	it('uses the whole quota of each window if the network is fast', () => {
		const settings = { limit: 5, windowMs: WINDOW_MS, phaseMs: undefined, tellsWindow: true }
		const all = Array.from({ length: 25 }, () => ({ at: 0, upMs: 0, downMs: 0, isLost: false }))
		const { sentAt } = play(settings, all)
		const perWindow = [0, 1, 2, 3, 4].map(
			(window) => sentAt.filter((at) => Math.floor(at / WINDOW_MS) === window).length,
		)
		expect(perWindow).toEqual([5, 5, 5, 5, 5])
	})
})
