import type { Policy } from '../engine/policy.ts'
import type { Block } from './registry.ts'

/** The parts of a policy that show whether it rejects calls: the statistics of a circuit, or the policies of its keys. */
interface Blocking {
	readonly stats?: { readonly state?: unknown; readonly retryAfterMs?: number }
	entries?(): Iterable<readonly [key: string, policy: Policy<unknown>]>
}

/**
 * Returns whether a policy rejects calls because a circuit is open or isolated. It reads statistics instead of checking classes, so that
 * programs without a breaker do not load one.
 */
export function blockOf(policy: Policy<unknown>): Block {
	return Math.max(0, ...policy.leaves().map(blockOfLeaf)) as Block
}

function blockOfLeaf(leaf: Policy<unknown> & Blocking): Block {
	if (leaf.entries) return Math.max(0, ...[...leaf.entries()].map(([, policy]) => blockOf(policy))) as Block
	const { state, retryAfterMs = 0 } = leaf.stats ?? {}
	if (state === undefined || !(retryAfterMs > 0)) return 0
	return retryAfterMs === Infinity ? 2 : 1
}
