/**
 * What is known about demand. The calls of a log are the demand: attempts are grouped by their call, so
 * retries of the pipeline are no demand. A caller that calls again after a failure is not visible as such. It
 * shows only in the rate of calls, which is then higher while calls fail; a rate that rose for another reason
 * looks the same, so both demands are replayed.
 */
import type { FoundFault } from './detect/detect-faults.ts'
import { at, increase } from './log/numbers.ts'

/** How well calls and retries could be separated. */
export interface DemandCounts {
	/** The share of calls during faults that exceed the normal rate and may be retries of the callers, 0 to 1. */
	readonly excessShare: number
	/** Retries of other policies inside the calls. */
	readonly nestedRetries: number
	/** Calls with retries that did not end in the events. They are replayed. */
	readonly unfinished: number
	/** Events without a call id. */
	readonly withoutId: number
}

/** A smaller increase is not reported. */
const MIN_INCREASE = 1.25

/** Standard deviations of a count by which it must exceed the normal rate. */
const MIN_DEVIATIONS = 4

/** Fewer bins have no rate. */
const MIN_BINS = 3

interface Bins {
	readonly length: number
	readonly widthMs: number
}

/** Returns the share of calls during the symptoms of faults that exceed the normal rate. `arrivals` are times of the scenario. */
export function findExcess(
	arrivals: ArrayLike<number>,
	faults: readonly FoundFault[],
	{ length, widthMs }: Bins,
): number {
	const counts = new Float64Array(length)
	for (let index = 0; index < arrivals.length; index++)
		increase(counts, Math.min(length - 1, Math.floor(at(arrivals, index) / widthMs)))
	const [normal, during] = [[] as number[], [] as number[]]
	// The first and the last bin are not whole.
	for (let bin = 1; bin < length - 1; bin++) {
		const [fromMs, toMs] = [bin * widthMs, (bin + 1) * widthMs]
		const isDuring = faults.some(({ fault }) => fault.fromMs <= fromMs && toMs <= fault.toMs)
		const isNear = faults.some(({ fault }) => fault.fromMs - widthMs < toMs && fromMs < fault.toMs + widthMs)
		if (isDuring) during.push(at(counts, bin))
		else if (!isNear) normal.push(at(counts, bin))
	}
	if (normal.length < MIN_BINS || during.length < MIN_BINS) return 0
	const sum = (values: readonly number[]) => values.reduce((all, one) => all + one, 0)
	const [seen, expected] = [sum(during), (sum(normal) / normal.length) * during.length]
	const isMore = seen > MIN_INCREASE * expected && seen - expected > MIN_DEVIATIONS * Math.sqrt(seen)
	return isMore ? 1 - expected / seen : 0
}

/** Returns the arrivals without this share of those during faults, evenly spread. */
export function withoutExcess(
	arrivals: readonly number[],
	faults: readonly FoundFault[],
	excessShare: number,
): readonly number[] {
	let during = 0
	return arrivals.filter((ms) => {
		if (!faults.some(({ fault }) => fault.fromMs <= ms && ms < fault.toMs)) return true
		during++
		return Math.floor(during * (1 - excessShare)) > Math.floor((during - 1) * (1 - excessShare))
	})
}
