import { describe, expect, it } from 'vitest'
import { simulate } from 'yaoki/sim'
import type { ArrivalBursts } from '../../../src/sim/scenario/arrivals-model.ts'
import { setup } from '../setup.ts'
import { startTimes } from './start-times.ts'

const BURSTS: ArrivalBursts = {
	kind: 'bursts',
	perSecond: 20,
	burstPerSecond: 200,
	everyMs: 1_000,
	lastsMs: 250,
}
/** Calls per second on average: a quarter of the time in a burst. */
const MEAN = 0.75 * 20 + 0.25 * 200

/**
 * Index of dispersion of a two-state Markov-modulated Poisson process (Fischer and Meier-Hellstern): variance over mean of the number
 * of calls in `ms`. It is 1 for a Poisson process.
 */
function dispersion({ perSecond, burstPerSecond, everyMs, lastsMs }: ArrivalBursts, ms: number): number {
	const [into, outOf] = [1 / (everyMs - lastsMs), 1 / lastsMs]
	const [quiet, burst] = [perSecond / 1_000, burstPerSecond / 1_000]
	const both = into + outOf
	const limit = (2 * into * outOf * (quiet - burst) ** 2) / (both ** 2 * (quiet * outOf + burst * into))
	return 1 + limit * (1 - (1 - Math.exp(-both * ms)) / (both * ms))
}

/** Mean, and variance over mean, of the calls in windows of this length. */
function counts(arrivals: ArrivalBursts, ms: number, windows: number): { mean: number; index: number } {
	const seen = new Array<number>(windows).fill(0)
	for (const at of startTimes(arrivals, windows * ms)) {
		const window = Math.floor(at / ms)
		seen[window] = (seen[window] ?? 0) + 1
	}
	const mean = seen.reduce((sum, one) => sum + one, 0) / windows
	const variance = seen.reduce((sum, one) => sum + (one - mean) ** 2, 0) / (windows - 1)
	return { mean, index: variance / mean }
}

describe('bursts', () => {
	it('have the mean rate of both states, weighted by their length', () => {
		const { mean } = counts(BURSTS, 10_000, 500)
		const sd = Math.sqrt((MEAN * 10 * dispersion(BURSTS, 10_000)) / 500)
		expect(Math.abs(mean - MEAN * 10)).toBeLessThan(4 * sd)
	})

	it.each([
		[10, 60_000],
		[200, 20_000],
		[2_000, 4_000],
	])('have the index of dispersion of their closed form, in windows of %i ms', (ms, windows) => {
		const { index } = counts(BURSTS, ms, windows)
		const formula = dispersion(BURSTS, ms)
		expect(formula).toBeGreaterThan(1.2)
		// Neighboring windows are correlated, and the counts are skewed: a wide margin, but far from 1.
		expect(Math.abs(index / formula - 1)).toBeLessThan(0.1)
	})

	it('are a Poisson process if the rate between them is the same', () => {
		const { index } = counts({ ...BURSTS, burstPerSecond: 20 }, 1_000, 10_000)
		expect(Math.abs(index - 1)).toBeLessThan(5 * Math.sqrt(2 / 10_000))
	})

	it('may be the only load', () => {
		const times = startTimes({ ...BURSTS, perSecond: 0 }, 1e6)
		expect(Math.abs(times.length - 50_000)).toBeLessThan(5_000)
		const gaps = times.slice(1).map((at, index) => at - (times[index] ?? 0))
		expect(gaps.filter((gap) => gap > 500).length).toBeGreaterThan(200)
	})

	it('start at fromMs and end before toMs', () => {
		const times = startTimes({ ...BURSTS, fromMs: 5_000, toMs: 8_000 }, 1e6)
		expect(Math.min(...times)).toBeGreaterThan(5_000)
		expect(Math.max(...times)).toBeLessThan(8_000)
		expect(times.length).toBeGreaterThan(60)
	})

	it('do not draw from the stream of the calls', () => {
		const flat = { ...BURSTS, burstPerSecond: 20 }
		const one = startTimes(flat, 10_000)
		const other = startTimes({ ...flat, everyMs: 50, lastsMs: 10 }, 10_000)
		expect(one.length).toBe(other.length)
		for (const [index, at] of one.entries()) expect(at).toBeCloseTo(other[index] ?? 0, 6)
	})

	it('end the run at the limit of events if they are very short', () => {
		const arrivals: ArrivalBursts = {
			...BURSTS,
			perSecond: 0,
			burstPerSecond: 1e-3,
			everyMs: 1e-3,
			lastsMs: 1e-6,
		}
		const run = simulate(setup({ web: { arrivals }, rest: { durationMs: 1e6, maxEvents: 10_000 } }))
		expect(run.endedBy).toBe('event-limit')
	})
})
