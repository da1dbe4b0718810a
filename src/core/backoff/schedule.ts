/**
 * A whole policy's waits, computed and never sampled: the bounds are the formula's own, the means are closed forms or,
 * for the decorrelated strategies, an integral. The figures in the documentation come from here.
 */
import { invalidOption } from '../options/schema.ts'
import { decorrelatedMeans } from './decorrelated-means.ts'
import { stepMs } from './growth.ts'
import { type BackoffOptions, readBackoff } from './options.ts'
import type { BackoffSettings } from './settings.ts'

/** The minimum, mean and maximum delay in milliseconds. All three are undefined if a function computes the delay. */
interface DelayRange {
	readonly minMs: number | undefined
	readonly meanMs: number | undefined
	readonly maxMs: number | undefined
}

/** The wait after the failure of `attempt` (from 0). */
export interface ScheduledDelay extends DelayRange {
	readonly attempt: number
}

/** Every wait of a policy, and their sum. */
export interface RetrySchedule {
	readonly delays: readonly ScheduledDelay[]
	readonly total: DelayRange
}

/** Who plans for more retries than this has another problem. */
const LONGEST = 100_000

/**
 * Tells each wait's least, mean and greatest length, and the totals.
 *
 * @example
 * schedule(presets.background).total.maxMs // 40300
 */
export function schedule(options: BackoffOptions = {}): RetrySchedule {
	const settings = readBackoff(options)
	const { maxRetries } = settings
	if (maxRetries > LONGEST) invalidOption('maxRetries', maxRetries, `at most ${LONGEST}, as each is listed`)
	const ranges = settings.jitterStrategy.startsWith('decorrelated')
		? decorrelatedRanges(settings, maxRetries)
		: Array.from({ length: maxRetries }, (_, attempt) => range(settings, attempt))
	return {
		delays: ranges.map((delay, attempt) => ({ attempt, ...delay })),
		total: ranges.reduce(add, rangeOf(0, 0, 0)),
	}
}

const rangeOf = (minMs?: number, meanMs?: number, maxMs?: number): DelayRange => ({
	minMs,
	meanMs,
	maxMs,
})

function add(a: DelayRange, b: DelayRange): DelayRange {
	const sum = (x?: number, y?: number) => (x === undefined || y === undefined ? undefined : x + y)
	return rangeOf(sum(a.minMs, b.minMs), sum(a.meanMs, b.meanMs), sum(a.maxMs, b.maxMs))
}

function range(settings: BackoffSettings, attempt: number): DelayRange {
	if (typeof settings.growth === 'function') return rangeOf()
	const step = stepMs(settings, attempt)
	const [least, greatest] = bounds(settings, step)
	return rangeOf(least, (least + greatest) / 2, greatest)
}

function bounds(
	{ jitterStrategy, jitterFactor, jitterRangeMs }: BackoffSettings,
	step: number,
): [number, number] {
	if (jitterStrategy === 'full') return [0, step]
	if (jitterStrategy === 'equal') return [step / 2, step]
	if (jitterStrategy === 'proportional') return [step, step + step * jitterFactor]
	if (jitterStrategy === 'additive') return [step, step + jitterRangeMs]
	return [step, step]
}

function decorrelatedRanges(settings: BackoffSettings, maxRetries: number): DelayRange[] {
	const { baseDelayMs, maxDelayMs } = settings
	let greatest = baseDelayMs
	return decorrelatedMeans(settings, maxRetries).map((mean) => {
		greatest = Math.min(maxDelayMs, 3 * greatest)
		return rangeOf(baseDelayMs, mean, greatest)
	})
}
