/**
 * How chance spreads delays. The cap has been applied to the step before the jitter comes, so that a fleet at the cap
 * stays spread out; `decorrelated-aws` is the published form that caps after the draw and bunches there, kept for
 * comparisons.
 */
import type { BackoffSettings, JitterStrategy } from './settings.ts'

type Draw = (settings: BackoffSettings, step: number, previous: number, random: () => number) => number

const uniform = (from: number, to: number, random: () => number): number =>
	to > from ? from + random() * (to - from) : from

export const JITTERS: Record<JitterStrategy, Draw> = {
	none: (_, step) => step,
	full: (_, step, __, random) => uniform(0, step, random),
	equal: (_, step, __, random) => uniform(step / 2, step, random),
	decorrelated: ({ baseDelayMs, maxDelayMs }, _, previous, random) =>
		uniform(baseDelayMs, Math.min(maxDelayMs, 3 * previous), random),
	'decorrelated-aws': ({ baseDelayMs, maxDelayMs }, _, previous, random) =>
		Math.min(maxDelayMs, uniform(baseDelayMs, 3 * previous, random)),
	proportional: ({ jitterFactor }, step, _, random) => uniform(step, step + step * jitterFactor, random),
	additive: ({ jitterRangeMs }, step, _, random) => uniform(step, step + jitterRangeMs, random),
}
