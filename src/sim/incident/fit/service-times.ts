/**
 * The service times at a number of workers. A response that found a free worker shows the service time alone;
 * others include a wait, which the replay would add a second time. At 70 % load of ten workers that alone
 * made the service 7 % slower than it was.
 */
import { seededRandom } from '../../../testing/seeded-random.ts'
import type { AttemptBins, Attempts } from '../log/attempts.ts'
import { at, sorted } from '../log/numbers.ts'
import type { RecordedAttempts } from './recorded.ts'

export interface ServiceTimes {
	/** In ascending order. */
	readonly serviceTimes: Float64Array
	/** The time that each attempt took a worker, by its position among the recorded attempts: recorded or drawn. */
	readonly workMs: Float64Array
}

export interface Evidence {
	readonly bins: AttemptBins
	/** 1 for each bin in or next to a slow period. */
	readonly isSlowBin: Uint8Array
	/** Durations of all responses in the other bins, in ascending order. */
	readonly serviceTimes: Float64Array
	readonly recorded: RecordedAttempts
	/** Other attempts in flight at the start of each attempt, by its index. */
	readonly inFlight: Uint32Array
}

/** Fewer responses are no distribution; then all of the normal periods are used. */
const MIN_SAMPLES = 200

export function serviceTimesWith(workers: number, evidence: Evidence): ServiceTimes {
	const { bins, isSlowBin, inFlight, recorded } = evidence
	const { attempts } = bins
	const knownMs = new Float64Array(attempts.length).fill(Number.NaN)
	for (let bin = 0; bin < bins.length; bin++)
		if (!isSlowBin[bin])
			for (const index of bins.in(bin, bin + 1))
				if (attempts.isTimed(index) && at(inFlight, index) < workers)
					knownMs[index] = attempts.durationMs(index)
	const known = sorted(Array.from(knownMs).filter((ms) => ms >= 0))
	const serviceTimes = known.length < MIN_SAMPLES ? evidence.serviceTimes : known
	const random = seededRandom('incident')
	const workMs = Float64Array.from(recorded.index, (index) => {
		const drawnMs = at(serviceTimes, Math.floor(random() * serviceTimes.length))
		const ms = at(knownMs, index)
		return ms >= 0 ? ms : drawnMs
	})
	return { serviceTimes, workMs }
}

/** Returns the number of other attempts in flight at the start of each attempt, by its index. */
export function countInFlight({ startedAt, endedAt, length }: Attempts, order: Uint32Array): Uint32Array {
	const ends = endedAt.slice(0, length).sort()
	const inFlight = new Uint32Array(length)
	let ended = 0
	for (const [started, index] of order.entries()) {
		while (ended < length && at(ends, ended) <= at(startedAt, index)) ended++
		inFlight[index] = Math.max(0, started - ended)
	}
	return inFlight
}
