/**
 * How chance spreads delays. The cap has been applied to the step before the jitter comes, so that a fleet at the cap
 * stays spread out; `decorrelated-aws` is the published form that caps after the draw and bunches there, kept for
 * comparisons.
 */
import type { Runtime } from '../runtime/runtime.ts'
import type { BackoffSettings, JitterStrategy } from './settings.ts'

/** The part of a runtime that draws. */
export type Chance = Pick<Runtime, 'random'>

type Draw = (settings: BackoffSettings, step: number, previous: number, chance: Chance) => number

const uniform = (from: number, to: number, chance: Chance): number =>
	to > from ? from + chance.random() * (to - from) : from

export const JITTERS: Record<JitterStrategy, Draw> = {
	none: (_, step) => step,
	full: (_, step, __, chance) => uniform(0, step, chance),
	equal: (_, step, __, chance) => uniform(step / 2, step, chance),
	decorrelated: ({ baseDelayMs, maxDelayMs }, _, previous, chance) =>
		uniform(baseDelayMs, Math.min(maxDelayMs, 3 * previous), chance),
	'decorrelated-aws': ({ baseDelayMs, maxDelayMs }, _, previous, chance) =>
		Math.min(maxDelayMs, uniform(baseDelayMs, 3 * previous, chance)),
	proportional: ({ jitterFactor }, step, _, chance) => uniform(step, step + step * jitterFactor, chance),
	additive: ({ jitterRangeMs }, step, _, chance) => uniform(step, step + jitterRangeMs, chance),
}
