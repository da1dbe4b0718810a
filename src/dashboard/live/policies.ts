/** Finds the policies in use, with their circuits. They may come from another copy of the package. */
import type { Budget } from '../../core/budget/budget.ts'
import type { Circuit, CircuitBreakerStats } from '../../core/circuit-breaker/circuit.ts'
import type { Observation, ObservedPolicy } from '../../core/observe/observation.ts'

/** The policies of one source are read up to this number; further circuits only if they are not closed. */
const MAX_POLICIES = 10_000

/** What is read of a single policy. Each policy has only a part of it. */
interface LeafStats extends Partial<CircuitBreakerStats> {
	readonly concurrent?: number
	readonly queued?: number
	readonly maxConcurrent?: number
	readonly available?: number
	readonly rejectProbability?: number
}

interface LeafLayer {
	readonly key?: string
	readonly circuit?: Circuit
	readonly settings?: {
		readonly budget?: Budget
		readonly shadow?: boolean
		readonly limit?: number
	}
}

export interface Leaf {
	readonly policy: ObservedPolicy
	readonly key: string | null
	readonly stats: LeafStats
	readonly layer: LeafLayer
}

/** Yields every single policy of a source once, also those inside `keyed`. */
export function* leavesOf({ members }: Pick<Observation, 'members'>): Generator<Leaf> {
	const seen = new Set<ObservedPolicy>()
	for (const [key, policy] of members?.() ?? [])
		for (const [policyKey, one] of singlesOf(policy, key)) {
			// A bulkhead may be shared by several pipelines of one source.
			if (seen.has(one)) continue
			const layer = layerOf(one)
			if (seen.size >= MAX_POLICIES && (layer.circuit?.state ?? 'closed') === 'closed') continue
			seen.add(one)
			// The key of the layer is the one of its events; `''` stands for several keys.
			yield { policy: one, key: layer.key || policyKey || null, stats: statsOf(one), layer }
		}
}

function* singlesOf(policy: ObservedPolicy, key: string): Generator<readonly [string, ObservedPolicy]> {
	for (const leaf of policy.leaves()) {
		const { entries } = leaf as { entries?(): Iterable<readonly [string, ObservedPolicy]> }
		if (typeof entries !== 'function') yield [key, leaf]
		else for (const [inner, one] of entries.call(leaf)) yield* singlesOf(one, inner)
	}
}

/** The `stats` of a policy that the user has written may be anything, and may throw. */
function statsOf(policy: ObservedPolicy): LeafStats {
	try {
		const { stats } = policy as { readonly stats?: unknown }
		return typeof stats === 'object' && stats !== null ? stats : {}
	} catch {
		return {}
	}
}

/** Getters in the policies would be in every bundle. */
export const layerOf = (policy: ObservedPolicy): LeafLayer =>
	(policy as { readonly layer?: LeafLayer }).layer ?? {}
