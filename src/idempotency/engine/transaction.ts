/**
 * The handler's writes and the stored response in one transaction: after a crash either both exist or neither. The claim was committed before, so
 * that concurrent requests see it, and the transaction ends by checking that the claim still holds the key.
 */
import { YaokiError } from '../../core/errors/errors.ts'
import { storedHeaders } from '../response/response-headers.ts'
import type { Claim } from './claim.ts'
import type { IdempotencyEngine } from './engine.ts'
import { LeaseLostError } from './errors.ts'
import type { IncomingRequest } from './options.ts'

/** Thrown inside of the transaction, to roll it back. */
const ROLLBACK = Symbol('rollback')

/**
 * Without a claim only the function's writes are committed. A response that is not stored, such as one with status 500, rolls back: otherwise
 * a repeated request would write a second time.
 */
export async function runTransaction<Tx>(
	engine: IdempotencyEngine<Tx, never>,
	claim: Claim | undefined,
	{ method, path }: Pick<IncomingRequest, 'method' | 'path'>,
	fn: (tx: Tx) => Response | Promise<Response>,
): Promise<Response> {
	const { store, retentionMs, maxBodyBytes, allowedHeaders } = engine.settings
	if (!store.transaction)
		throw new YaokiError(
			'YAOKI_IDEMPOTENCY_NO_TRANSACTION',
			'The store has no transactions: use postgresIdempotencyStore or sqliteIdempotencyStore, or steps',
		)
	let response: Response | undefined
	let isCompleted = false
	try {
		return await store.transaction(async (tx, complete) => {
			response = await fn(tx)
			if (!engine.shouldStore(response.status, method, path)) throw ROLLBACK
			if (!claim) return response
			const { status, headers } = response
			const body = new Uint8Array(await response.clone().arrayBuffer())
			const stored =
				body.length > maxBodyBytes
					? undefined
					: { status, headers: storedHeaders(headers, allowedHeaders), body }
			const isStored = await engine.completeInTransaction(claim, () =>
				complete(claim.ref, stored, retentionMs),
			)
			if (!isStored) throw new LeaseLostError()
			isCompleted = true
			return response
		})
	} catch (error) {
		// The handler may repeat the transaction, or return another response.
		if (isCompleted && claim) engine.resume(claim)
		if (error === ROLLBACK && response) return response
		throw error
	}
}
