import type { StoredResponse } from '../store/store.ts'
import type { Claim } from './claim.ts'
import type { ConflictReason } from './events.ts'

/** What happens to a request. */
export type BeginResult =
	| { readonly kind: 'run'; readonly claim: Claim }
	| { readonly kind: 'replay'; readonly response: StoredResponse }
	/** Without `retryAfterMs` a repetition does not help. */
	| { readonly kind: 'conflict'; readonly reason: ConflictReason; readonly retryAfterMs?: number | undefined }
	| { readonly kind: 'mismatch' }
