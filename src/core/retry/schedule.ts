/**
 * The delays of a whole retry policy, computed and not sampled. The bounds are the formula's own; the means
 * are closed forms or, for the decorrelated strategies, a numeric integral. The figures in the documentation
 * come from here.
 */
import { decorrelatedMeans } from '../backoff/decorrelated-means.ts'
import { type BackoffSettings, computeStepMs, JITTERS } from '../backoff/formula.ts'
import { invalidOption } from '../options/schema.ts'
import { type RetryOptions, readDelayOptions } from './options.ts'

/** Delays in milliseconds; all undefined if a function computes the delay. */
interface DelayRange {
	readonly minMs: number | undefined
	readonly meanMs: number | undefined
	readonly maxMs: number | undefined
}

/** The delay after the failure of `attempt` (from 0). */
interface ScheduledDelay extends DelayRange {
	readonly attempt: number
}

/** Every delay of a retry policy, and their sum. `schedule` returns it. */
export interface RetrySchedule {
	readonly delays: readonly ScheduledDelay[]
	readonly total: DelayRange
}

const MAX_LISTED_RETRIES = 100_000

/**
 * Returns the minimum, mean and maximum of each delay that a `retry` with these options makes, and the
 * totals.
 *
 * @example
 * schedule(presets.background).total.maxMs // => 40300
 */
export function schedule(options: RetryOptions = {}): RetrySchedule {
	const settings = readDelayOptions(options, 'schedule')
	const expected = `at most ${MAX_LISTED_RETRIES}, because schedule lists every delay`
	if (settings.maxRetries > MAX_LISTED_RETRIES) invalidOption('maxRetries', settings.maxRetries, expected)
	return computeSchedule(settings)
}

export function computeSchedule(settings: BackoffSettings): RetrySchedule {
	const { maxRetries } = settings
	const ranges = settings.jitterStrategy.startsWith('decorrelated')
		? decorrelatedRanges(settings, maxRetries)
		: Array.from({ length: maxRetries }, (_, attempt) => stepRange(settings, attempt))
	return {
		delays: ranges.map((delay, attempt) => ({ attempt, ...delay })),
		total: ranges.reduce(addRanges, { minMs: 0, meanMs: 0, maxMs: 0 }),
	}
}

function addRanges(a: DelayRange, b: DelayRange): DelayRange {
	const sum = (x?: number, y?: number) => (x === undefined || y === undefined ? undefined : x + y)
	return { minMs: sum(a.minMs, b.minMs), meanMs: sum(a.meanMs, b.meanMs), maxMs: sum(a.maxMs, b.maxMs) }
}

function stepRange(settings: BackoffSettings, attempt: number): DelayRange {
	if (typeof settings.growth === 'function') return { minMs: undefined, meanMs: undefined, maxMs: undefined }
	const [minMs, maxMs] = JITTERS[settings.jitterStrategy](settings, computeStepMs(settings, attempt), 0)
	return { minMs, meanMs: (minMs + maxMs) / 2, maxMs }
}

function decorrelatedRanges(settings: BackoffSettings, maxRetries: number): DelayRange[] {
	const { baseDelayMs: minMs, maxDelayMs } = settings
	let maxMs = minMs
	return decorrelatedMeans(settings, maxRetries).map((meanMs) => {
		maxMs = Math.min(maxDelayMs, 3 * maxMs)
		return { minMs, meanMs, maxMs }
	})
}
