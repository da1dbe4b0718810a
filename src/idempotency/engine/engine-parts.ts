/** What contexts, transactions and functions use of an engine. They do not import the engine, which imports them. */
import type { Queryable } from '../../sql/clients.ts'
import type { IdempotencyIdentity } from '../key/identity.ts'
import type { StoredResponse } from '../store/store.ts'
import type { BeginOptions, BeginResult } from './begin-result.ts'
import type { IdempotencyClaim } from './claim.ts'
import type { IdempotencySettings } from './options.ts'

export interface EngineParts<Tx = unknown> {
	readonly settings: IdempotencySettings<Tx, never>
	begin(identity: IdempotencyIdentity, fingerprint: string, options?: BeginOptions): Promise<BeginResult>
	shouldStore(status: number, method: string, path: string): boolean
	tryComplete(claim: IdempotencyClaim, response: StoredResponse | undefined): Promise<void>
	tryRelease(claim: IdempotencyClaim): Promise<void>
	completeInTransaction(claim: IdempotencyClaim, complete: () => boolean | Promise<boolean>): Promise<boolean>
	completeIn(claim: IdempotencyClaim, tx: Queryable, response: StoredResponse | undefined): Promise<boolean>
	resume(claim: IdempotencyClaim): void
}
