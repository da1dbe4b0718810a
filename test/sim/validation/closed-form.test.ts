/** Compares the formulas with published tables, special cases, and numerically solved Markov chains. */
import { describe, expect, it, test } from 'vitest'
import {
	erlangB,
	erlangC,
	finiteQueue,
	meanAttempts,
	meanCallsToTrip,
	meanInOrbit,
	meanWaiting,
	meanWaitMs,
	meanWithBreakdowns,
	momentsOf,
	priorityWaitsMs,
} from './closed-form.ts'

describe('Erlang B', () => {
	// The load per number of lines at this loss, from published tables.
	test.each([
		[1, 0.0101, 0.01],
		[5, 1.36, 0.01],
		[5, 1.66, 0.02],
		[10, 4.46, 0.01],
		[10, 5.08, 0.02],
		[10, 6.22, 0.05],
		[20, 12.0, 0.01],
		[50, 37.9, 0.01],
		[100, 84.1, 0.01],
	])('%i lines at %f erlangs lose the tabulated share, %f', (servers, load, loss) => {
		// Loads are printed to three digits, and the loss is several times as sensitive.
		expect(Math.abs(erlangB(servers, load) / loss - 1)).toBeLessThan(0.03)
	})
	it('is load / (1 + load) for one line, and finite for thousands', () => {
		expect(erlangB(1, 3)).toBeCloseTo(0.75, 12)
		expect(erlangB(5_000, 4_900)).toBeGreaterThan(0)
		expect(erlangB(5_000, 4_900)).toBeLessThan(0.02)
	})
})

describe('Erlang C', () => {
	// The mean queue length, from published tables.
	test.each([
		[2, 1, 0.333],
		[2, 1.5, 1.929],
		[3, 2, 0.889],
		[4, 2, 0.174],
		[4, 3, 1.528],
		[5, 4, 2.216],
	])('%i servers at a load of %f have the tabulated queue length, %f', (servers, load, waiting) => {
		expect(meanWaiting(servers, load)).toBeCloseTo(waiting, 3)
	})
	it('is the load for one server, and 2 r^2 / (1 + r) for two at utilization r', () => {
		expect(erlangC(1, 0.7)).toBeCloseTo(0.7, 12)
		expect(erlangC(2, 1.6)).toBeCloseTo((2 * 0.8 ** 2) / 1.8, 12)
	})
})

describe('Pollaczek-Khinchine', () => {
	it('equals M/M/1 for exponential service times, and half of that for constant ones', () => {
		const [load, meanMs] = [0.8, 10]
		const wait = (load * meanMs) / (1 - load)
		expect(meanWaitMs(load / meanMs, momentsOf({ kind: 'exponential', meanMs }))).toBeCloseTo(wait, 9)
		expect(meanWaitMs(load / meanMs, momentsOf(meanMs))).toBeCloseTo(wait / 2, 9)
	})
	it('uses moments that equal a numerical integral', () => {
		const halves = 200_000
		const integral = (of: (share: number) => number) => {
			let sum = 0
			for (let index = 0; index < halves; index++) sum += of((index + 0.5) / halves)
			return sum / halves
		}
		const uniform = (power: number) => integral((share) => (5 + 20 * share) ** power)
		const { meanMs, squareMs2 } = momentsOf({ kind: 'uniform', minMs: 5, maxMs: 25 })
		expect([meanMs, squareMs2]).toEqual([expect.closeTo(uniform(1), 6), expect.closeTo(uniform(2), 4)])
		// Over the normal distribution from -12 to 12; its 99th percentile is ln(80 / 8).
		const sigma = Math.log(80 / 8) / 2.3263478740408408
		const lognormal = (power: number) =>
			24 *
			integral((share) => {
				const x = 24 * share - 12
				return (Math.exp(-(x ** 2) / 2) / Math.sqrt(2 * Math.PI)) * (8 * Math.exp(sigma * x)) ** power
			})
		const moments = momentsOf({ kind: 'lognormal', medianMs: 8, p99Ms: 80 })
		expect(moments.meanMs / lognormal(1)).toBeCloseTo(1, 6)
		expect(moments.squareMs2 / lognormal(2)).toBeCloseTo(1, 6)
	})
	it('rejects a distribution without known moments', () => {
		expect(() => momentsOf({ kind: 'empirical', valuesMs: [1] })).toThrow('empirical')
	})
})

describe('M/M/1/K', () => {
	it('equals Erlang B for K = 1, and loses one in K + 1 at a load of 1', () => {
		expect(finiteQueue(1, 2.5).blocked).toBeCloseTo(erlangB(1, 2.5), 12)
		expect(finiteQueue(4, 1)).toEqual({ blocked: expect.closeTo(1 / 5, 12), mean: expect.closeTo(2, 12) })
	})
	it('equals the textbook formula elsewhere, and M/M/1 for large K', () => {
		expect(finiteQueue(5, 0.8).blocked).toBeCloseTo(((1 - 0.8) * 0.8 ** 5) / (1 - 0.8 ** 6), 12)
		expect(finiteQueue(400, 0.8).mean).toBeCloseTo(0.8 / 0.2, 9)
	})
})

/**
 * The Markov chain of the retrial queue, from the flow over each cut: the server accepts calls from an orbit of n at the rate at which it
 * moves from n - 1 waiting to n, and the state busy with n waiting is left as often as entered.
 */
function orbitByBruteForce(perMs: number, meanMs: number, retriesPerMs: number): number {
	const done = 1 / meanMs
	// Idle and busy with n waiting, up to a constant that cancels out.
	let [idle, busy] = [1, perMs * meanMs]
	let [all, sum] = [idle + busy, 0]
	for (let n = 1; n < 5_000; n++) {
		// Across the cut between n - 1 and n waiting: an arrival while busy, against a retry while idle.
		const nextIdle = (perMs * busy) / (n * retriesPerMs)
		// Idle with n waiting: left by an arrival or a retry, entered by the end of a service.
		const nextBusy = ((perMs + n * retriesPerMs) * nextIdle) / done
		;[idle, busy] = [nextIdle, nextBusy]
		all += idle + busy
		sum += n * (idle + busy)
	}
	return sum / all
}

describe('the retrial queue', () => {
	test.each([
		[0.05, 10, 0.1],
		[0.06, 10, 0.02],
		[0.09, 10, 1],
		[0.02, 5, 0.001],
	])(
		'satisfies its balance equations at %f calls per ms, %f ms service time and %f retries per ms',
		(...given) => {
			expect(meanInOrbit(...given) / orbitByBruteForce(...given)).toBeCloseTo(1, 9)
		},
	)
	it('is a queue if retries are immediate', () => {
		expect(meanInOrbit(0.08, 10, 1e9)).toBeCloseTo(meanWaiting(1, 0.8), 6)
	})
})

describe('priorities', () => {
	const moments = momentsOf({ kind: 'exponential', meanMs: 10 })
	it('give the Pollaczek-Khinchine formula with a single class', () => {
		expect(priorityWaitsMs([{ perMs: 0.06, moments }])[0]).toBeCloseTo(meanWaitMs(0.06, moments), 9)
	})
	it('obey the conservation law: the mean of the waits, weighted by load, is that without priorities', () => {
		const rates = [0.01, 0.03, 0.04]
		const waits = priorityWaitsMs(rates.map((perMs) => ({ perMs, moments })))
		const weighted = waits.reduce((sum, wait, index) => sum + (rates[index] ?? 0) * wait, 0) / 0.08
		expect(weighted).toBeCloseTo(meanWaitMs(0.08, moments), 9)
		expect(waits).toEqual(waits.toSorted((a, b) => a - b))
	})
	it('let the highest class wait only for itself and for the request in progress', () => {
		const waits = priorityWaitsMs([
			{ perMs: 0.01, moments: momentsOf(10) },
			{ perMs: 0.05, moments: momentsOf(10) },
		])
		expect(waits[0]).toBeCloseTo((0.06 * 100) / 2 / (1 - 0.1), 9)
	})
})

/** The Markov chain of M/M/1 with breakdowns, from the flow over the cut between n and n + 1, and into and out of each broken state. */
function brokenByBruteForce(perMs: number, meanMs: number, upMs: number, downMs: number): number {
	let up = 1
	let down = up / upMs / (perMs + 1 / downMs)
	let [all, sum] = [up + down, 0]
	for (let n = 1; n < 20_000; n++) {
		const nextUp = perMs * meanMs * (up + down)
		const nextDown = (perMs * down + nextUp / upMs) / (perMs + 1 / downMs)
		;[up, down] = [nextUp, nextDown]
		all += up + down
		sum += n * (up + down)
	}
	return sum / all
}

describe('a queue with breakdowns', () => {
	test.each([
		[0.04, 10, 1_000, 200],
		[0.02, 10, 50, 50],
		[0.09, 10, 10_000, 20],
	])(
		'satisfies its balance equations at %f calls per ms, %f ms service time, %f ms up and %f ms down',
		(...given) => {
			expect(meanWithBreakdowns(...given) / brokenByBruteForce(...given)).toBeCloseTo(1, 9)
		},
	)
	it('is M/M/1 without breakdowns', () => {
		expect(meanWithBreakdowns(0.08, 10, 1e12, 1)).toBeCloseTo(4, 6)
	})
})

/** Consecutive failures: the mean number of calls from each state to the end, found by iteration. */
function tripByBruteForce(failing: number, inRow: number): number {
	let left = new Array<number>(inRow + 1).fill(0)
	for (let round = 0; round < 20_000; round++)
		left = left.map((_, row) =>
			row === inRow ? 0 : 1 + failing * (left[row + 1] ?? 0) + (1 - failing) * (left[0] ?? 0),
		)
	return left[0] ?? 0
}

describe('attempts', () => {
	it('equal the sum over all outcomes', () => {
		expect(meanAttempts(0.5, 3)).toBeCloseTo(1 + 0.5 + 0.25, 12)
		expect([meanAttempts(0, 3), meanAttempts(1, 3)]).toEqual([1, 3])
	})
	test.each([
		[0.5, 1],
		[0.5, 2],
		[0.7, 3],
		[0.3, 4],
	])(
		'come to a series of failures, at a rate of %f, of %i in a row as late as a chain that is followed step by step',
		(...given) => {
			expect(meanCallsToTrip(...given) / tripByBruteForce(...given)).toBeCloseTo(1, 9)
		},
	)
	it('are as many as the consecutive failures if all fail', () => {
		expect(meanCallsToTrip(1, 5)).toBe(5)
	})
})
