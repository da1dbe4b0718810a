/**
 * The changes to try, alone and in pairs, by size. Some pairs make an invalid policy, such as a list of delays below the base of
 * another jitter; whether a policy is valid is decided by building it, because a second definition of "valid" would differ from the
 * first one day.
 */
import { InvalidArgumentError, InvalidOptionError } from '../../core/errors/errors.ts'
import { EventLoop } from '../kernel/event-loop.ts'
import { buildPolicy } from '../scenario/layers.ts'
import { applyChanges, layersOf, type Policies, type TuneChange } from './changes.ts'
import { movesFor } from './moves.ts'

/** Changes that are tried together. */
export interface Candidate {
	readonly changes: readonly TuneChange[]
	/** The sum of the sizes of the changes. */
	readonly size: number
}

/** Returns single changes and, with `maxChanges` 2, pairs, the smallest first. No pair changes one setting twice. */
export function listCandidates(
	names: readonly string[],
	policies: Policies,
	maxChanges: number,
): readonly Candidate[] {
	const moves = names.flatMap((name) => movesFor(name, layersOf(name, policies)))
	const single = moves.map(({ change, size }) => ({ changes: [change], size }))
	const pairs = moves.flatMap((first, index) =>
		moves
			.slice(index + 1)
			.filter(({ change }) => change.path !== first.change.path)
			.map((second) => ({ changes: [first.change, second.change], size: first.size + second.size })),
	)
	return [...single, ...(maxChanges > 1 ? pairs : [])].sort(
		(a, b) => a.size - b.size || a.changes.length - b.changes.length,
	)
}

/** Returns whether the changed policies can be built. */
export function isValid({ changes }: Candidate, policies: Policies): boolean {
	const changed = applyChanges(policies, changes)
	const loop = new EventLoop(1, 1)
	try {
		for (const name of new Set(changes.map(({ policy }) => policy)))
			buildPolicy(layersOf(name, changed), { loop, runtime: loop.runtime('check'), path: name })
		return true
	} catch (error) {
		if (error instanceof InvalidOptionError || error instanceof InvalidArgumentError) return false
		throw error
	}
}
