/**
 * Conditions that identify a claim: id, owner, attempt and, if given, the time of the claim. Sent rows are deleted and never return, so owner and
 * attempt are enough for them, and one statement handles all rows of an attempt.
 */
import type { ClaimRef } from '../rows.ts'

export const MATCHES_CLAIM = 'id = ?1 AND locked_by = ?2 AND attempts = ?3'
export const MATCH_CLAIMS = 'id IN (SELECT value FROM json_each(?1)) AND locked_by = ?2 AND attempts = ?3'

/** ?4 is the time of the claim, or null. */
export const MATCHES_EXACT_CLAIM: string = `${MATCHES_CLAIM} AND locked_at = coalesce(?4, locked_at)`

export function idsByAttempt(claims: readonly ClaimRef[]): ReadonlyMap<number, string[]> {
	const groups = new Map<number, string[]>()
	let attempt: number | undefined
	let ids: string[] = []
	for (const claim of claims) {
		if (claim.attempt !== attempt) {
			attempt = claim.attempt
			ids = groups.get(attempt) ?? []
			groups.set(attempt, ids)
		}
		ids.push(claim.id)
	}
	return groups
}
