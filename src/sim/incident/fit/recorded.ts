/** The recorded attempts in the order in which the service got them, reduced to what a hypothesis must predict. */
import type { Pace } from '../detect/service-time.ts'
import { OUTCOME } from '../log/attempt-outcome.ts'
import type { AttemptBins, Attempts } from '../log/attempts.ts'
import { at, quantile, sorted } from '../log/numbers.ts'

/** Responses in four classes of latency, failures, and timeouts. */
export const KIND = { slowest: 3, failed: 4, timedOut: 5 } as const
export const KINDS = 6

export class RecordedAttempts {
	readonly length: number
	/** Their indices in the log's order. */
	readonly index: Uint32Array
	/** Times of the scenario. */
	readonly startMs: Float64Array
	/** How long the caller would have waited. */
	readonly timeoutMs: Float64Array
	readonly kind: Uint8Array
	/** Upper limits of the first three classes of latency. */
	readonly limits: readonly number[]
	readonly binMs: number

	constructor(bins: AttemptBins, { medianMs, slowMs }: Pace) {
		const { attempts, origin, widthMs } = bins
		const { length } = attempts
		this.length = length
		this.index = attempts.byStart()
		this.binMs = widthMs / SPLIT
		this.limits = [medianMs, slowMs, 3 * slowMs]
		this.startMs = new Float64Array(length)
		this.timeoutMs = new Float64Array(length)
		this.kind = new Uint8Array(length)
		const usualMs = usualTimeout(attempts)
		for (const [position, index] of this.index.entries()) {
			const durationMs = attempts.durationMs(index)
			const isTimeout = attempts.outcome[index] === OUTCOME.timedOut
			this.startMs[position] = at(attempts.startedAt, index) - origin
			this.timeoutMs[position] = isTimeout ? durationMs : Math.max(usualMs, durationMs)
			this.kind[position] = this.#kindOf(at(attempts.outcome, index), durationMs)
		}
	}

	#kindOf(outcome: number, durationMs: number): number {
		if (outcome === OUTCOME.failed) return KIND.failed
		if (outcome === OUTCOME.timedOut) return KIND.timedOut
		const above = this.limits.findIndex((limit) => durationMs <= limit)
		return above < 0 ? KIND.slowest : above
	}

	positionAt(ms: number): number {
		let [low, high] = [0, this.length]
		while (low < high) {
			const middle = (low + high) >> 1
			if (at(this.startMs, middle) < ms) low = middle + 1
			else high = middle
		}
		return low
	}
}

/** Bins per bin of the search for faults: an overload begins within less than a second. */
const SPLIT = 4

/** The usual time after which callers give up; Infinity if no attempt timed out. */
function usualTimeout(attempts: Attempts): number {
	const durations: number[] = []
	for (let index = 0; index < attempts.length; index++)
		if (attempts.outcome[index] === OUTCOME.timedOut) durations.push(attempts.durationMs(index))
	return durations.length === 0 ? Infinity : quantile(sorted(durations), 0.5)
}
