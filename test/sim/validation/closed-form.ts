/**
 * Closed forms for queues, losses and retries. They follow the definitions and import nothing of
 * the simulator, so that they cannot repeat its errors; their own tests compare them with tables and with
 * numerically solved balance equations. Times are in milliseconds, rates per millisecond, and a load is a rate times a mean time.
 */
import type { Distribution } from 'yaoki/sim'

/** Erlang B: the share of calls that find all servers busy, if those are lost. Uses the recursion, which does not overflow. */
export function erlangB(servers: number, load: number): number {
	let blocked = 1
	for (let n = 1; n <= servers; n++) blocked = (load * blocked) / (n + load * blocked)
	return blocked
}

/** Erlang C: the share of calls that find all servers busy, if those wait. */
export function erlangC(servers: number, load: number): number {
	const blocked = erlangB(servers, load)
	return blocked / (1 - (load / servers) * (1 - blocked))
}

/** M/M/c: the mean number of queued calls. */
export const meanWaiting = (servers: number, load: number): number =>
	(erlangC(servers, load) * load) / (servers - load)

/** The mean of a duration, and the mean of its square. */
interface Moments {
	readonly meanMs: number
	readonly squareMs2: number
}

/** The 99th percentile of the standard normal distribution. */
const Z99 = 2.3263478740408408

/** The moments of a distribution. */
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

/** Pollaczek-Khinchine: the mean wait for one server, for any distribution of service times. */
export const meanWaitMs = (perMs: number, { meanMs, squareMs2 }: Moments): number =>
	(perMs * squareMs2) / (2 * (1 - perMs * meanMs))

/** M/M/1/K: the distribution of the number in the system, 0 to `places`. The load may be 1 or more. */
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
 * M/M/1 with retrials (Falin and Templeton): a call that finds the server busy retries after an exponential time
 * of mean `1 / retriesPerMs`. Returns the mean number of calls that wait for a retry: what a queue would hold, and what the server
 * loses by being idle meanwhile.
 */
export function meanInOrbit(perMs: number, meanMs: number, retriesPerMs: number): number {
	const load = perMs * meanMs
	return (load ** 2 + (load * perMs) / retriesPerMs) / (1 - load)
}

/** The mean number of attempts that fail with probability `failing`, with at most `most` attempts. */
export const meanAttempts = (failing: number, most: number): number =>
	failing === 1 ? most : (1 - failing ** most) / (1 - failing)

/** The mean number of calls until `inRow` consecutive failures. */
export const meanCallsToTrip = (failing: number, inRow: number): number =>
	failing === 1 ? inRow : (1 - failing ** inRow) / (failing ** inRow * (1 - failing))

/**
 * M/M/1 whose server breaks down, also while idle, and continues where it was (White and Christie 1958): exponential times until a
 * breakdown and until its repair. Returns the mean number in the system, from the generating functions of the balance equations.
 */
export function meanWithBreakdowns(perMs: number, meanMs: number, upMs: number, downMs: number): number {
	const [breaks, repairs] = [1 / upMs, 1 / downMs]
	const available = repairs / (breaks + repairs)
	const up =
		(available * perMs * (1 + (breaks * (repairs + perMs)) / repairs ** 2)) / (available / meanMs - perMs)
	return up + (available * breaks * perMs) / repairs ** 2
}

/** The time until a backlog is gone that arrived while a server stood still: it drains as fast as there is capacity left. */
export const drainMs = (pauseMs: number, load: number): number => (load * pauseMs) / (1 - load)

/** Calls of one priority. */
interface PriorityClass {
	readonly perMs: number
	readonly moments: Moments
}

/**
 * Cobham 1954: the mean wait of each class in an M/G/1 queue that serves the class with the highest priority next and interrupts nothing.
 * The classes are in that order.
 */
export function priorityWaitsMs(classes: readonly PriorityClass[]): readonly number[] {
	// What is left of the service in progress, for any class.
	const residualMs = classes.reduce((sum, { perMs, moments }) => sum + (perMs * moments.squareMs2) / 2, 0)
	let load = 0
	return classes.map(({ perMs, moments }) => {
		const above = load
		load += perMs * moments.meanMs
		return residualMs / ((1 - above) * (1 - load))
	})
}

/** The mean of the slowest of n parallel calls with exponential times: the first to end of n, then of n - 1, and so on. */
export const meanOfSlowest = (calls: number, meanMs: number): number =>
	Array.from({ length: calls }, (_, index) => meanMs / (index + 1)).reduce((sum, ms) => sum + ms, 0)

/** The share of requests with n parallel calls that are slower than the 99th percentile of one call (Dean and Barroso 2013). */
export const slowShare = (calls: number): number => 1 - 0.99 ** calls
