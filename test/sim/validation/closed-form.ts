/**
 * What theory says of queues, losses and retries, as formulas. They are written from the definitions and import nothing of
 * the simulator, so that an error there can not be repeated here; their own tests hold them against tables and against
 * balance equations that are solved by brute force. Times are in milliseconds, rates are per millisecond, and a load is a rate times a mean time.
 */
import type { Distribution } from 'yaoki/sim'

/** Erlang B: the share of calls that find all servers busy, when those are lost. By the recursion, which does not overflow. */
export function erlangB(servers: number, load: number): number {
	let blocked = 1
	for (let n = 1; n <= servers; n++) blocked = (load * blocked) / (n + load * blocked)
	return blocked
}

/** Erlang C: the share of calls that find all servers busy, when those wait. */
export function erlangC(servers: number, load: number): number {
	const blocked = erlangB(servers, load)
	return blocked / (1 - (load / servers) * (1 - blocked))
}

/** M/M/c: how many wait, the mean over time. */
export const meanWaiting = (servers: number, load: number): number =>
	(erlangC(servers, load) * load) / (servers - load)

/** The mean of a duration, and that of its square. */
interface Moments {
	readonly meanMs: number
	readonly squareMs2: number
}

/** The 99th percentile of the standard normal law. */
const Z99 = 2.3263478740408408

/** Of the laws that Pollaczek and Khinchine are asked about. */
export function momentsOf(law: Distribution): Moments {
	if (typeof law === 'number') return { meanMs: law, squareMs2: law ** 2 }
	if (law.kind === 'exponential') return { meanMs: law.meanMs, squareMs2: 2 * law.meanMs ** 2 }
	if (law.kind === 'uniform') {
		const { minMs: a, maxMs: b } = law
		return { meanMs: (a + b) / 2, squareMs2: (a ** 2 + a * b + b ** 2) / 3 }
	}
	if (law.kind !== 'lognormal') throw new Error(`no moments are known here of ${law.kind}`)
	const variance = (Math.log(law.p99Ms / law.medianMs) / Z99) ** 2
	return {
		meanMs: law.medianMs * Math.exp(variance / 2),
		squareMs2: law.medianMs ** 2 * Math.exp(2 * variance),
	}
}

/** Pollaczek and Khinchine: the mean wait before one server, whatever the law of its work. */
export const meanWaitMs = (perMs: number, { meanMs, squareMs2 }: Moments): number =>
	(perMs * squareMs2) / (2 * (1 - perMs * meanMs))

/** M/M/1/K: how many are there, one of them in work, as a law over 0 to `places`. A load of 1 and more is allowed. */
export function finiteQueue(
	places: number,
	load: number,
): { readonly blocked: number; readonly mean: number } {
	const weights = Array.from({ length: places + 1 }, (_, number) => load ** number)
	const all = weights.reduce((sum, weight) => sum + weight, 0)
	return {
		blocked: load ** places / all,
		mean: weights.reduce((sum, weight, number) => sum + number * weight, 0) / all,
	}
}

/**
 * M/M/1 with retrials (Falin and Templeton): who finds the server busy comes again, each for himself, after exponential times
 * of mean `1 / retriesPerMs`. The mean number of those who are away: what a queue would hold, and what the server loses by idling
 * while they are.
 */
export function meanInOrbit(perMs: number, meanMs: number, retriesPerMs: number): number {
	const load = perMs * meanMs
	return (load ** 2 + (load * perMs) / retriesPerMs) / (1 - load)
}

/** How often something is tried that fails with probability `failing`, when nobody tries more than `most` times. */
export const meanAttempts = (failing: number, most: number): number =>
	failing === 1 ? most : (1 - failing ** most) / (1 - failing)

/** How many calls until `inRow` failures have come without a success between them. */
export const meanCallsToTrip = (failing: number, inRow: number): number =>
	failing === 1 ? inRow : (1 - failing ** inRow) / (failing ** inRow * (1 - failing))
