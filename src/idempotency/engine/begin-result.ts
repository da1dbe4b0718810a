import type { StoredResponse } from '../store/store.ts'
import type { IdempotencyClaim } from './claim.ts'
import type { ConflictReason } from './events.ts'

export interface BeginOptions {
	/** Aborted when the client has left: a request that waits for another one stops. */
	readonly signal?: AbortSignal | undefined
}

/** What happens to a request. */
export type BeginResult =
	| { readonly kind: 'run'; readonly claim: IdempotencyClaim }
	| { readonly kind: 'replay'; readonly response: StoredResponse }
	/** Without `retryAfterMs` a repetition does not help. */
	| { readonly kind: 'conflict'; readonly reason: ConflictReason; readonly retryAfterMs?: number | undefined }
	| { readonly kind: 'mismatch' }
