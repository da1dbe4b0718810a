/**
 * How chance spreads delays. The cap has been applied to the step before the jitter comes, so that a fleet at the cap
 * stays spread out; `decorrelated-aws` is the published form that caps after the draw and bunches there, kept for
 * comparisons.
 */
import type { Runtime } from '../runtime/runtime.ts'
import type { BackoffSettings, JitterStrategy } from './settings.ts'

/** The part of a runtime that draws. */
export type RandomSource = Pick<Runtime, 'random'>

type Draw = (settings: BackoffSettings, step: number, previous: number, source: RandomSource) => number

const uniform = (from: number, to: number, source: RandomSource): number =>
	to > from ? from + source.random() * (to - from) : from

export const JITTERS: Record<JitterStrategy, Draw> = {
	none: (_, step) => step,
	full: (_, step, __, source) => uniform(0, step, source),
	equal: (_, step, __, source) => uniform(step / 2, step, source),
	decorrelated: ({ baseDelayMs, maxDelayMs }, _, previous, source) =>
		uniform(baseDelayMs, Math.min(maxDelayMs, 3 * previous), source),
	'decorrelated-aws': ({ baseDelayMs, maxDelayMs }, _, previous, source) =>
		Math.min(maxDelayMs, uniform(baseDelayMs, 3 * previous, source)),
	proportional: ({ jitterFactor }, step, _, source) => uniform(step, step + step * jitterFactor, source),
	additive: ({ jitterRangeMs }, step, _, source) => uniform(step, step + jitterRangeMs, source),
}
