import type { ObservedPolicy } from '../../core/observe/observe.ts'
import type { Source } from '../observe/exporter.ts'

const VALUES: Readonly<Record<string, number>> = { closed: 0, open: 1, isolated: 1, 'half-open': 2 }
/** Closed, half-open, open: the higher, the worse. */
const SEVERITY = [0, 2, 1]
const MAX_SERVICES = 1_000

/** Returns the state of the circuits by service: 0 closed, 1 open or isolated, 2 half-open. With several circuits, the worst of them. */
export function circuitStates(source: Source): ReadonlyMap<string, number> {
	const states = new Map<string, number>()
	for (const [key, policy] of source.policies?.() ?? []) {
		for (const leaf of policy.leaves()) {
			const value = stateOf(leaf)
			if (value === undefined) continue
			const service = source.serviceOf({ type: 'state_change', policy: leaf.name, key })
			const known = states.get(service)
			if (known === undefined && states.size >= MAX_SERVICES) continue
			if (known === undefined || severity(value) > severity(known)) states.set(service, value)
		}
	}
	return states
}

const severity = (value: number): number => SEVERITY[value] ?? 0

/** Reads statistics instead of checking classes, so that programs without a breaker do not load one. */
function stateOf(leaf: ObservedPolicy): number | undefined {
	const { stats } = leaf as { readonly stats?: { readonly state?: unknown } }
	return typeof stats === 'object' ? VALUES[String(stats.state)] : undefined
}
