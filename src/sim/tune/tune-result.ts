/** The result of a search, as plain data. */
import type { Estimate } from '../measure/estimate.ts'
import type { MeasureName } from '../measure/measures.ts'
import type { Replications } from '../measure/replications.ts'
import type { PolicyLayer } from '../scenario/layers.ts'
import type { TuneChange } from './changes.ts'
import type { Violation } from './constraints.ts'

/** A policy that was tried. `applyChanges(scenario.policies, changes)` returns it. */
export interface TuneStep {
	readonly changes: readonly TuneChange[]
	/** The size of the change, as the guide defines it. */
	readonly size: number
	/** The first violated constraint; undefined if all runs satisfied all of them. */
	readonly violation: Violation | undefined
	/** Number of runs. The last is the one with the violation. */
	readonly runs: number
}

/** The policy that comes closest to all constraints, if none satisfies them. */
export interface NearestMiss {
	/** Empty if no change comes closer than the original policy. */
	readonly changes: readonly TuneChange[]
	/** The sum of the sizes of the changes. */
	readonly size: number
	/** The searched policies with these changes, by name. */
	readonly policies: Readonly<Record<string, readonly PolicyLayer[]>>
	/** The constraint that is missed by most, in the run that misses it by most. */
	readonly violation: Violation
	/** Runs with these policies; undefined if the search was interrupted before they were made. */
	readonly after: Replications | undefined
}

/** The best of all changes of a single setting, beside the smallest. */
export interface BestSingle {
	readonly change: TuneChange
	readonly size: number
	/** The searched policies with the change, by name. */
	readonly policies: Readonly<Record<string, readonly PolicyLayer[]>>
	/** The constraint that is missed by most; undefined if all are satisfied. */
	readonly violation: Violation | undefined
	readonly after: Replications
}

/** A setting that the search may change. */
export interface ConsideredSetting {
	/** Names the setting, as in `TuneChange`. */
	readonly path: string
	readonly from: unknown
	/** The values to try, alone and in pairs with values of other settings. */
	readonly to: readonly unknown[]
}

/** How much one setting matters. */
export interface SettingSensitivity {
	/** Names the setting: `client[0].retry.maxRetries`. A layer that could be added has no index: `client.timeoutMs`. */
	readonly path: string
	readonly from: unknown
	/** Every value that was tried, with the difference of each measure to the original policy, seed by seed. */
	readonly alternatives: readonly {
		readonly to: unknown
		readonly differences: Partial<Readonly<Record<MeasureName, Estimate>>>
	}[]
	/** The alternative and the measure with the greatest relative change; undefined if all differences are within noise. */
	readonly strongest: StrongestEffect | undefined
}

/** The greatest effect of a setting on a measure. */
export interface StrongestEffect {
	readonly to: unknown
	readonly measure: MeasureName
	/** The difference to the original policy. Its interval excludes zero. */
	readonly difference: Estimate
	/** The change relative to the larger of the two means, 0 to 1. Settings are ranked by it. */
	readonly relative: number
}

/** The result of a search, which `tune` returns: the changes, and the runs before and after them. */
export interface TuneResult {
	/** True if a policy satisfies all constraints. If not, the policies are unchanged, and `steps` shows why. */
	readonly survives: boolean
	/** Empty if the original policies satisfy all constraints. */
	readonly changes: readonly TuneChange[]
	/** The searched policies with the changes, by name. */
	readonly policies: Readonly<Record<string, readonly PolicyLayer[]>>
	/** The first of `policies`: the only one, if a single name was given. */
	readonly policy: readonly PolicyLayer[]
	/** Runs with the original policies. */
	readonly before: Replications
	/** Runs with the changed policies; undefined if no policy satisfies all constraints. */
	readonly after: Replications | undefined
	/** The closest policy, if no policy satisfies all constraints. */
	readonly nearest: NearestMiss | undefined
	/**
	 * The single change that is best by the objective among those that satisfy all constraints or, if no policy
	 * does, the one that comes closest. Undefined if the original policies satisfy all constraints, if no
	 * single change does, or if the search was interrupted.
	 */
	readonly bestSingle: BestSingle | undefined
	/** Every setting that the search may change, with its values. */
	readonly considered: readonly ConsideredSetting[]
	/** The number of scenarios. Runs are ordered by seed, then by scenario. */
	readonly scenarios: number
	/** With `sensitivity`: every setting, the one that matters most first. */
	readonly sensitivity: readonly SettingSensitivity[] | undefined
	/** Every policy that was tried, in order. */
	readonly steps: readonly TuneStep[]
}
