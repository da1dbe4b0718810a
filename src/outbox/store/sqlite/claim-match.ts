/**
 * Conditions that identify a claim: id, owner, attempt and, if given, the time of the claim. Sent rows are deleted and never return, so owner and
 * attempt are enough for them, and one statement handles all rows of an attempt.
 */
import type { ClaimRef } from '../rows.ts'

export const MATCHES_CLAIM = 'id = ?1 AND locked_by = ?2 AND attempts = ?3'
export const MATCH_CLAIMS = 'id IN (SELECT value FROM json_each(?1)) AND locked_by = ?2 AND attempts = ?3'

/** ?4 is the time of the claim, or null. */
export const MATCHES_EXACT_CLAIM: string = `${MATCHES_CLAIM} AND locked_at = coalesce(?4, locked_at)`

/** How one statement matches many claims: by a range of row numbers, a list of them, or a list of ids. */
export type MatchBy = 'range' | 'list' | 'ids'

export const MATCH_BY: Readonly<Record<MatchBy, string>> = {
	range: 'seq BETWEEN ?1 AND ?4 AND locked_by = ?2 AND attempts = ?3',
	list: 'seq IN (SELECT value FROM json_each(?1)) AND locked_by = ?2 AND attempts = ?3',
	ids: MATCH_CLAIMS,
}

export interface ClaimGroup {
	readonly attempt: number
	readonly ids: string[]
	/** Shorter than `ids` if some claims do not have one. */
	readonly sequences: number[]
}

export function claimsByAttempt(claims: readonly ClaimRef[]): Iterable<ClaimGroup> {
	const groups = new Map<number, ClaimGroup>()
	let group: ClaimGroup | undefined
	for (const { id, attempt, sequence } of claims) {
		if (group?.attempt !== attempt) {
			group = groups.get(attempt) ?? { attempt, ids: [], sequences: [] }
			groups.set(attempt, group)
		}
		group.ids.push(id)
		if (sequence !== undefined) group.sequences.push(sequence)
	}
	return groups.values()
}

/** Returns true if the numbers are consecutive, as those of a batch usually are. A range needs no list that is written and parsed. */
export function isRange(sequences: readonly number[]): boolean {
	const [first = 0] = sequences
	return sequences.every((sequence, at) => sequence === first + at)
}
