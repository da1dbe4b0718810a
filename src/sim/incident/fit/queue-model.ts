/**
 * Predicts how each recorded attempt would have ended at a service with given workers and faults, and how
 * likely the recorded outcomes are then. The attempts go through the workers first come, first served, at the
 * times at which they were recorded: the requests that retries sent are known, so the policy that sent them
 * need not be.
 *
 * The wait of an attempt follows from the service time of each attempt before it: the recorded one where it
 * is known, otherwise a draw, the same in every hypothesis, so that hypotheses are compared and not draws.
 * The attempt's own service time is not drawn: its outcomes have probabilities.
 *
 * A fluid queue that took its length from the recorded outcomes was rejected. It assumed that a timeout which
 * its queue did not explain costs the service nothing, and that a failed request does not either. Where the
 * overload began with a slowdown or with errors, its queue stayed empty for ever: of 32,352 attempts in a
 * retry storm it explained none, and read the storm as an outage to the end of the log.
 */
import { logarithm } from '../../kernel/logarithm.ts'
import type { Fault } from '../../scenario/scenario.ts'
import { at } from '../log/numbers.ts'
import { KIND, KINDS, type RecordedAttempts } from './recorded.ts'
import type { ServiceTimes } from './service-times.ts'

/** A service that may have been the recorded one. */
export interface Hypothesis {
	readonly workers: number
	readonly faults: readonly Fault[]
}

export interface Period {
	readonly fromMs: number
	readonly toMs: number
}

/** Gets the probabilities of the outcomes of an attempt, and its wait for a worker. Returns false to end the prediction. */
export type Visit = (position: number, probabilities: Float64Array, waitMs: number) => boolean

/** A part of the attempts end in ways that no model predicts. */
const NOISE = 0.03

/** The weight of a bin is capped at this many attempts, because real rates fluctuate more than a random sample. */
const MAX_WEIGHT = 20

const POINTS = 4_096

/** A prediction starts this long before its period, with free workers. */
const LEAD_MS = 2_000

// In what runs once per attempt, `values[index] ?? 0` replaces `at`, which is four times slower for lists of
// several types.
export class QueueModel {
	readonly #recorded: RecordedAttempts
	/** The work of each attempt, by its position. */
	readonly #workMs: Float64Array
	readonly #shares: Float64Array
	readonly #pointsPerMs: number

	constructor(recorded: RecordedAttempts, { serviceTimes, workMs }: ServiceTimes) {
		this.#recorded = recorded
		this.#workMs = workMs
		const pointMs = Math.max(at(serviceTimes, serviceTimes.length - 1), 0.001) / POINTS
		this.#pointsPerMs = 1 / pointMs
		this.#shares = distribution(serviceTimes, pointMs)
	}

	/**
	 * Returns the log-likelihood of the outcomes recorded in a period, minus the log-likelihood of a
	 * prediction that is right in every bin. Returns -Infinity if the result is below `floor`.
	 */
	logLikelihood(hypothesis: Hypothesis, { fromMs, toMs }: Period, floor: number): number {
		const { startMs, kind, binMs } = this.#recorded
		const [predicted, recorded] = [new Float64Array(KINDS), new Float64Array(KINDS)]
		let [sum, bin] = [0, -1]
		const endBin = (): void => {
			sum += agreement(predicted, recorded)
			predicted.fill(0)
			recorded.fill(0)
		}
		this.predict(hypothesis, { fromMs, toMs }, (position, probabilities) => {
			const now = startMs[position] ?? 0
			if (now < fromMs) return true
			const next = Math.floor(now / binMs)
			if (next !== bin) {
				endBin()
				bin = next
				if (sum < floor) return false
			}
			for (let one = 0; one < KINDS; one++) predicted[one] = (predicted[one] ?? 0) + (probabilities[one] ?? 0)
			const seen = kind[position] ?? 0
			recorded[seen] = (recorded[seen] ?? 0) + 1
			return true
		})
		endBin()
		return sum < floor ? -Infinity : sum
	}

	/** Visits the attempts of a period in the order of their starts, and those shortly before it. */
	predict({ workers, faults }: Hypothesis, { fromMs, toMs }: Period, visit: Visit): void {
		const { startMs, length } = this.#recorded
		const workMs = this.#workMs
		const pool = workers < Infinity ? new WorkerPool(workers) : undefined
		const all = faults.filter((fault) => fault.kind === 'outage').sort((a, b) => a.fromMs - b.fromMs)
		const outages = all.filter(({ share = 1 }) => share === 1)
		const partial = all.filter(({ share = 1 }) => share < 1)
		const probabilities = new Float64Array(KINDS)
		let restarts = 0
		for (let position = this.#recorded.positionAt(fromMs - LEAD_MS); position < length; position++) {
			const now = startMs[position] ?? 0
			if (now >= toMs) return
			for (let next = outages[restarts]; next && next.toMs <= now; next = outages[++restarts]) pool?.clear()
			const outage = outages[restarts]
			const beginsMs = pool ? Math.max(now, pool.nextFreeAt) : now
			const factor = slowdownAt(faults, beginsMs)
			const endsMs = beginsMs + factor * (workMs[position] ?? 0)
			// An outage loses the requests in progress too.
			const isLost = outage !== undefined && outage.fromMs <= endsMs
			const hit = partial.find((one) => one.fromMs <= now && now < one.toMs)
			if ((!isLost || beginsMs < outage.fromMs) && !isDrawn(position, hit?.share ?? 0)) pool?.occupy(endsMs)
			if (isLost) {
				probabilities.fill(0)
				probabilities[lostKind(outage)] = 1
			} else this.#fill(probabilities, position, beginsMs - now, factor, errorRateAt(faults, endsMs))
			if (hit && !isLost) addLost(probabilities, hit)
			if (!visit(position, probabilities, beginsMs - now)) return
		}
	}

	#fill(
		probabilities: Float64Array,
		position: number,
		waitMs: number,
		factor: number,
		errorRate: number,
	): void {
		const { limits, timeoutMs } = this.#recorded
		const leftMs = (timeoutMs[position] ?? 0) - waitMs
		// Most attempts of a retry storm.
		if (leftMs <= 0) {
			probabilities.fill(0)
			probabilities[KIND.timedOut] = 1
			return
		}
		const responds = this.#share(leftMs / factor)
		let below = 0
		for (let kind = 0; kind < KIND.slowest; kind++) {
			const share = Math.min(responds, this.#share(((limits[kind] ?? 0) - waitMs) / factor))
			probabilities[kind] = (1 - errorRate) * (share - below)
			below = share
		}
		probabilities[KIND.slowest] = (1 - errorRate) * (responds - below)
		probabilities[KIND.failed] = errorRate * responds
		probabilities[KIND.timedOut] = 1 - responds
	}

	/** Returns the probability that a request is processed within this time. */
	#share(ms: number): number {
		if (ms < 0) return 0
		const point = ms * this.#pointsPerMs
		return point >= POINTS ? 1 : (this.#shares[point | 0] ?? 0)
	}
}

type Outage = Extract<Fault, { readonly kind: 'outage' }>

const lostKind = ({ mode }: Outage): number => (mode === 'hang' ? KIND.timedOut : KIND.failed)

/** Draws a share of the positions, evenly, so that every hypothesis draws the same. */
const isDrawn = (position: number, share: number): boolean =>
	Math.floor((position + 1) * share) > Math.floor(position * share)

/** Adds the requests that an outage of a share of them loses. */
function addLost(probabilities: Float64Array, outage: Outage): void {
	const { share = 1 } = outage
	for (let kind = 0; kind < KINDS; kind++) probabilities[kind] = (probabilities[kind] ?? 0) * (1 - share)
	const kind = lostKind(outage)
	probabilities[kind] = (probabilities[kind] ?? 0) + share
}

/** Compares the outcomes in a bin. 0 is the best value. */
function agreement(predicted: Float64Array, recorded: Float64Array): number {
	const all = recorded.reduce((sum, count) => sum + count, 0)
	if (all === 0) return 0
	let sum = 0
	for (let kind = 0; kind < KINDS; kind++) {
		const share = at(recorded, kind) / all
		if (share > 0) sum += share * (logOfShare(at(predicted, kind) / all) - logOfShare(share))
	}
	return sum * Math.min(all, MAX_WEIGHT)
}

const logOfShare = (share: number): number => logarithm(NOISE / KINDS + (1 - NOISE) * share)

/** Returns the shares of service times up to each point. */
function distribution(serviceTimes: Float64Array, pointMs: number): Float64Array {
	const shares = new Float64Array(POINTS)
	let below = 0
	for (let point = 0; point < POINTS; point++) {
		while (below < serviceTimes.length && at(serviceTimes, below) <= (point + 0.5) * pointMs) below++
		shares[point] = below / serviceTimes.length
	}
	return shares
}

function slowdownAt(faults: readonly Fault[], ms: number): number {
	let factor = 1
	for (const fault of faults)
		if (fault.kind === 'slowdown' && fault.fromMs <= ms && ms < fault.toMs) factor *= fault.factor
	return factor
}

function errorRateAt(faults: readonly Fault[], ms: number): number {
	let passes = 1
	for (const fault of faults)
		if (fault.kind === 'errors' && fault.fromMs <= ms && ms < fault.toMs) passes *= 1 - fault.rate
	return 1 - passes
}

class WorkerPool {
	readonly #freeAt: Float64Array

	constructor(workers: number) {
		this.#freeAt = new Float64Array(workers).fill(-Infinity)
	}

	/** All workers are free: the service was restarted. */
	clear(): void {
		this.#freeAt.fill(-Infinity)
	}

	get nextFreeAt(): number {
		return this.#freeAt[0] ?? 0
	}

	occupy(until: number): void {
		const freeAt = this.#freeAt
		const { length } = freeAt
		let index = 0
		for (;;) {
			let child = 2 * index + 1
			if (child >= length) break
			if (child + 1 < length && (freeAt[child + 1] ?? 0) < (freeAt[child] ?? 0)) child++
			if ((freeAt[child] ?? 0) >= until) break
			freeAt[index] = freeAt[child] ?? 0
			index = child
		}
		freeAt[index] = until
	}
}
