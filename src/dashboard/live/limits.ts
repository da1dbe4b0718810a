/** Bulkheads, rate limiters, budgets and adaptive throttles, from their statistics. */
import type { Budget } from '../../core/budget/budget.ts'
import type { LimitRow } from '../contract.ts'
import type { Leaf } from './policies.ts'
import type { ShownTexts } from './shown-texts.ts'

const UNKNOWN = { used: null, limit: null, queued: null, available: null, rejectProbability: null } as const

/** Returns a row for each limit of a source, and one for each budget. */
export function limitRows(source: string, leaves: readonly Leaf[], texts: ShownTexts): LimitRow[] {
	const budgets = new Set<Budget>()
	const rows: LimitRow[] = []
	for (const leaf of leaves) {
		const { policy, stats, layer } = leaf
		const { concurrent, queued, maxConcurrent, available, rejectProbability } = stats
		const add = (kind: LimitRow['kind'], facts: Partial<LimitRow>) =>
			rows.push({
				source,
				name: texts.text(policy.name, 'emitter'),
				key: texts.name(leaf.key ?? undefined, 'key'),
				kind,
				...UNKNOWN,
				...facts,
			})
		if (maxConcurrent !== undefined)
			add('bulkhead', { used: concurrent ?? 0, limit: maxConcurrent, queued: queued ?? 0 })
		else if (available !== undefined) add('rate-limiter', { available, limit: layer.settings?.limit ?? null })
		else if (rejectProbability !== undefined) add('throttle', { rejectProbability })
		const { budget } = layer.settings ?? {}
		// Many retries may share a budget.
		if (!budget || budgets.has(budget)) continue
		budgets.add(budget)
		const { retries } = (budget as { readonly stats?: { readonly retries?: number } }).stats ?? {}
		add('budget', { available: budget.available(), used: retries ?? null })
	}
	return rows
}

/** The limits that are nearest to rejecting calls come first. */
export const byPressure = (a: LimitRow, b: LimitRow): number => pressureOf(b) - pressureOf(a)

function pressureOf({ used, limit, available, queued, rejectProbability, kind }: LimitRow): number {
	if (rejectProbability !== null) return rejectProbability
	if (available !== null) return available >= 1 ? 0 : 1
	return kind === 'bulkhead' && limit ? (used ?? 0) / limit + (queued ? 1 : 0) : 0
}
