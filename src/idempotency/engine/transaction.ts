/**
 * The writes of a handler and the stored response in one transaction: after a crash either both exist or
 * neither. The claim was committed before, so that concurrent requests see it, and the transaction ends by
 * checking that the claim still holds the key.
 */
import type { Queryable } from '../../sql/clients.ts'
import type { IdempotencyClaim } from './claim.ts'
import { IdempotencyLeaseLostError, noTransactionError } from './errors.ts'
import type { Outcome } from './outcome.ts'
import type { EngineParts } from './running-claims.ts'

/**
 * Opens the transaction. Without a claim only the function's writes are committed. A response that is not
 * stored, such as one with status 500, rolls back: otherwise a repeated request would write a second time.
 */
export async function runTransaction<Tx, Result>(
	engine: EngineParts<Tx>,
	claim: IdempotencyClaim | undefined,
	run: (tx: Tx) => Promise<Outcome<Result>>,
): Promise<Result> {
	const { store, retentionMs } = engine.settings
	if (!store.transaction) throw noTransactionError()
	let outcome: Outcome<Result> | undefined
	let isCompleted = false
	try {
		return await store.transaction(async (tx, complete) => {
			outcome = await run(tx)
			if (outcome.rollback) throw outcome.rollback
			if (!claim) return outcome.result
			const stored = await outcome.stored()
			const isStored = await engine.claims.completeInTransaction(claim, () =>
				complete(claim.ref, stored, retentionMs),
			)
			if (!isStored) throw new IdempotencyLeaseLostError()
			isCompleted = true
			return outcome.result
		})
	} catch (error) {
		// The handler may repeat the transaction, or return another response.
		if (isCompleted && claim) engine.claims.resume(claim)
		if (outcome?.rollback && error === outcome.rollback) return outcome.result
		throw error
	}
}

/** Stores the outcome in a transaction that the user has opened. Throws whatever must roll it back. */
export async function completeIn<Result>(
	engine: EngineParts,
	claim: IdempotencyClaim | undefined,
	tx: Queryable,
	outcome: Outcome<Result>,
): Promise<Result> {
	if (!engine.settings.store.completeIn) throw noTransactionError()
	if (outcome.rollback) throw outcome.rollback
	if (claim && !(await engine.claims.completeIn(claim, tx, await outcome.stored())))
		throw new IdempotencyLeaseLostError()
	return outcome.result
}
