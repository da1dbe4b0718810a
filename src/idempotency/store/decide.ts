import type { IdempotencyClaimRequest, IdempotencyClaimResult, StoredKey } from './store.ts'

/** A key whose retention is not over. */
interface CurrentKey {
	readonly state: StoredKey['state']
	readonly fingerprint: string
	readonly token: string
	readonly leaseUntil: number
}

/** Returns what a request finds: the one decision that every store makes, here as a function and elsewhere in SQL or Lua. */
export function decide(
	{ state, fingerprint, token, leaseUntil }: CurrentKey,
	request: Pick<IdempotencyClaimRequest, 'fingerprint' | 'token' | 'abandoned' | 'endedToken'>,
	now: number,
): IdempotencyClaimResult['kind'] {
	// Before anything else, so that a different request learns nothing about the first.
	if (fingerprint !== request.fingerprint) return 'mismatch'
	if (state === 'completed' || state === 'unstored') return state
	if (state === 'released' || token === request.token) return 'claimed'
	if (leaseUntil > now && token !== request.endedToken) return 'running'
	return request.abandoned === 'reject' ? 'abandoned' : 'claimed'
}
