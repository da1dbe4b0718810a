/**
 * Which setting matters most. Every single change is run with the seeds of the original policy and compared
 * with it seed by seed: both meet the same arrivals, so most of the randomness cancels out. A difference
 * counts if its 95 % interval excludes zero. Settings are ranked by the relative change of a mean, which has
 * no unit. It is about the policy as it is: a setting that does nothing alone may still matter together with
 * another.
 */
import { type Estimate, estimate } from '../measure/estimate.ts'
import { type MeasureName, readMeasure } from '../measure/measures.ts'
import type { SimulationResult } from '../measure/result.ts'
import type { TuneChange } from './changes.ts'
import { relativeGap } from './constraints.ts'
import type { SettingSensitivity, StrongestEffect } from './tune-result.ts'

export interface Alternative {
	readonly change: TuneChange
	readonly runs: readonly SimulationResult[]
}

/** Returns every setting with its effects, the one that matters most first. */
export function rankSettings(
	before: readonly SimulationResult[],
	alternatives: readonly Alternative[],
	measures: readonly MeasureName[],
): readonly SettingSensitivity[] {
	const paths = new Set(alternatives.map(({ change }) => change.path))
	const settings = [...paths].map((path): SettingSensitivity => {
		const tried = alternatives.filter(({ change }) => change.path === path)
		const compared = tried.map(({ change: { to }, runs }) => ({
			to,
			effects: measures.map((measure) => effectOf(measure, to, before, runs)),
		}))
		const significant = compared
			.flatMap(({ effects }) => effects)
			.filter(({ difference }) => isSignificant(difference))
		return {
			path,
			from: tried[0]?.change.from,
			alternatives: compared.map(({ to, effects }) => ({
				to,
				differences: Object.fromEntries(effects.map(({ measure, difference }) => [measure, difference])),
			})),
			strongest: significant.toSorted((a, b) => b.relative - a.relative)[0],
		}
	})
	const relative = ({ strongest }: SettingSensitivity) => strongest?.relative ?? -1
	return settings.sort((a, b) => relative(b) - relative(a))
}

/** Returns whether the interval of a difference excludes zero. A single run has no interval. */
export const isSignificant = ({ count, low, high }: Estimate): boolean => count > 1 && (low > 0 || high < 0)

function effectOf(
	measure: MeasureName,
	to: unknown,
	before: readonly SimulationResult[],
	after: readonly SimulationResult[],
): StrongestEffect {
	const pairs = before.flatMap((run, index) => {
		const other = after[index]
		const [from, now] = [amountOf(measure, run), other ? amountOf(measure, other) : null]
		return from === null || now === null ? [] : [{ from, now }]
	})
	const difference = estimate(pairs.map(({ from, now }) => now - from))
	const sum = (key: 'from' | 'now') => pairs.reduce((total, pair) => total + pair[key], 0)
	return { to, measure, difference, relative: relativeGap(sum('now'), sum('from')) }
}

/** A run that never recovers counts with the time that it had: without it, exactly the changes that help most would have no value. */
function amountOf(measure: MeasureName, run: SimulationResult): number | null {
	const value = readMeasure(measure, run)
	if (value !== null || measure !== 'recoveredAfterMs' || !run.recovery) return value
	return run.endedAtMs - run.recovery.faultEndedAtMs
}
