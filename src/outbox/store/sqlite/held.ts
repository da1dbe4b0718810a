/**
 * What names a claim: its owner, its attempt, and when it was made if that is told. Those that were sent are deleted and never come back, so owner
 * and attempt are enough for them, and one statement does for all of an attempt: mostly that is all.
 */
import type { ClaimRef } from '../rows.ts'

export const IS_HELD = 'id = ?1 AND locked_by = ?2 AND attempts = ?3'
export const ARE_HELD = 'id IN (SELECT value FROM json_each(?1)) AND locked_by = ?2 AND attempts = ?3'

/** By this very claim; ?4 is when it was made. */
export const IS_HELD_STILL: string = `${IS_HELD} AND locked_at = coalesce(?4, locked_at)`

/** The ids of each attempt. */
export function byAttempt(held: readonly ClaimRef[]): ReadonlyMap<number, string[]> {
	const groups = new Map<number, string[]>()
	let attempt: number | undefined
	let ids: string[] = []
	for (const one of held) {
		if (one.attempt !== attempt) {
			attempt = one.attempt
			ids = groups.get(attempt) ?? []
			groups.set(attempt, ids)
		}
		ids.push(one.id)
	}
	return groups
}
