/**
 * The backoff formula: `min(growth(attempt), maxDelayMs)`, then jitter. The cap comes before the jitter, so
 * that the clients of a fleet stay spread out when they reach the cap. `decorrelated-aws`, the published
 * form, caps after the draw and bunches at the cap; it exists for comparisons.
 */
import { checkRange } from '../options/schema.ts'
import type { Runtime } from '../runtime/runtime.ts'

export type NamedGrowth = 'exponential' | 'linear' | 'constant' | 'fibonacci'

/** A named curve, a list in milliseconds whose last value repeats, or a function of the attempt (from 0). */
export type BackoffGrowth = NamedGrowth | readonly number[] | ((attempt: number) => number)

/**
 * How a delay is randomized. Use it as `jitterStrategy` of everything that retries, such as `retry`. The
 * guide has the formula of each.
 */
export type JitterStrategy =
	| 'none'
	| 'full'
	| 'equal'
	| 'decorrelated'
	| 'decorrelated-aws'
	| 'proportional'
	| 'additive'

/** Validated backoff options, with every default filled in. */
export interface BackoffSettings {
	readonly baseDelayMs: number
	readonly maxDelayMs: number
	readonly factor: number
	readonly jitterFactor: number
	readonly jitterRangeMs: number
	readonly maxRetries: number
	/** Infinity if there is no limit. */
	readonly maxElapsedMs: number
	readonly growth: BackoffGrowth
	readonly jitterStrategy: JitterStrategy
}

/** The part of a runtime that draws random numbers. */
export type RandomSource = Pick<Runtime, 'random'>

/** Returns the delay after `attempt` (from 0) has failed, in milliseconds. */
export function computeDelayMs(
	settings: BackoffSettings,
	attempt: number,
	previousMs: number,
	source: RandomSource,
): number {
	const { jitterStrategy, maxDelayMs } = settings
	const [from, to] = JITTERS[jitterStrategy](settings, computeStepMs(settings, attempt), previousMs)
	const delayMs = to > from ? from + source.random() * (to - from) : from
	return jitterStrategy === 'decorrelated-aws' ? Math.min(maxDelayMs, delayMs) : delayMs
}

export const GROWTHS: Record<NamedGrowth, (base: number, attempt: number, factor: number) => number> = {
	exponential: (base, attempt, factor) => base * factor ** attempt,
	linear: (base, attempt) => base * (attempt + 1),
	constant: (base) => base,
	fibonacci(base, attempt) {
		let [step, next] = [base, base]
		// Once `next` is Infinity it stays Infinity, so attempt 10,000 does not need 10,000 additions.
		for (let n = 0; n < attempt && next < Infinity; n++) [step, next] = [next, step + next]
		return step
	},
}

/** Returns `min(growth(attempt), maxDelayMs)`. Around attempt 1,000 growth reaches Infinity. */
export function computeStepMs(settings: BackoffSettings, attempt: number): number {
	const { growth, baseDelayMs, maxDelayMs, factor } = settings
	let step: number
	if (typeof growth === 'function') {
		step = growth(attempt)
		checkRange('growth(attempt)', step, 0, Infinity)
	} else if (typeof growth === 'string') {
		// 0 * Infinity is NaN, and a base of 0 means no delay at any attempt.
		step = baseDelayMs && GROWTHS[growth](baseDelayMs, attempt, factor)
	} else {
		step = growth[Math.min(attempt, growth.length - 1)] ?? 0
	}
	return Math.min(step, maxDelayMs)
}

/** Returns the bounds of a delay, which is drawn uniformly from between them. */
type Bounds = (
	settings: BackoffSettings,
	step: number,
	previousMs: number,
) => readonly [from: number, to: number]

export const JITTERS: Record<JitterStrategy, Bounds> = {
	none: (_, step) => [step, step],
	full: (_, step) => [0, step],
	equal: (_, step) => [step / 2, step],
	decorrelated: ({ baseDelayMs, maxDelayMs }, _, previousMs) => [
		baseDelayMs,
		Math.min(maxDelayMs, 3 * previousMs),
	],
	'decorrelated-aws': ({ baseDelayMs }, _, previousMs) => [baseDelayMs, 3 * previousMs],
	proportional: ({ jitterFactor }, step) => [step, step + step * jitterFactor],
	additive: ({ jitterRangeMs }, step) => [step, step + jitterRangeMs],
}
