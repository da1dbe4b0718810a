import type {
	IdempotencyClaimRequest,
	IdempotencyClaimResult,
	StoredKey,
	StoredResponse,
	StoredSteps,
} from './store.ts'

/** A key whose retention is not over. Steps and response are read only if the request gets them. */
interface CurrentKey {
	readonly state: StoredKey['state']
	readonly fingerprint: string
	readonly token: string
	readonly leaseUntil: number
	readonly steps: StoredSteps
	/** Undefined unless the key has completed. */
	readonly response: StoredResponse | undefined
}

/**
 * Returns what a request finds. Every store makes this decision: stores in memory and SQLite with this
 * function, the others in SQL or Lua.
 */
export function decide(
	key: CurrentKey,
	request: Pick<IdempotencyClaimRequest, 'fingerprint' | 'token' | 'abandoned' | 'endedToken'>,
	now: number,
): IdempotencyClaimResult {
	const { state, token } = key
	const leaseLeftMs = key.leaseUntil - now
	// Before anything else, so that a different request learns nothing about the first.
	if (key.fingerprint !== request.fingerprint) return { kind: 'mismatch' }
	if (state === 'completed' || state === 'unstored') {
		const { response } = key
		return response ? { kind: 'completed', response } : { kind: 'unstored' }
	}
	if (state === 'running' && token !== request.token) {
		if (leaseLeftMs > 0 && token !== request.endedToken) return { kind: 'running', leaseLeftMs, token }
		if (request.abandoned === 'reject') return { kind: 'abandoned' }
	}
	return { kind: 'claimed', steps: key.steps }
}
