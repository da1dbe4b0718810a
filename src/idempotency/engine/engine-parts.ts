/** What contexts, transactions and functions use of an engine, which imports them. */
import type { IdempotencyIdentity } from '../key/identity.ts'
import type { BeginOptions, BeginResult } from './claim.ts'
import type { IdempotencySettings } from './options.ts'
import type { RunningClaims } from './running-claims.ts'

export interface EngineParts<Tx = unknown> {
	readonly settings: IdempotencySettings<Tx, never>
	readonly claims: RunningClaims
	begin(identity: IdempotencyIdentity, fingerprint: string, options?: BeginOptions): Promise<BeginResult>
}
