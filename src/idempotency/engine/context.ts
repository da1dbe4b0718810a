/** What a handler gets. */
import type { Jsonified } from '../../core/json/jsonified.ts'
import { type Claim, encodeStepValue, type StepContext } from './claim.ts'
import type { IdempotencyEngine } from './engine.ts'
import { stepInTransactionError } from './errors.ts'
import type { IncomingRequest } from './options.ts'
import { runTransaction } from './transaction.ts'

export interface IdempotencyContext<Tx = unknown> {
	/** True if repeated requests get the response of this one. False without a key, and if the store failed and `onStoreError` is `'pass'`. */
	readonly isProtected: boolean
	/** True if an earlier run of this key stored steps and did not complete. */
	readonly isRerun: boolean
	/** Aborted when the lease is lost: another request may run with this key. */
	readonly signal: AbortSignal | undefined
	/**
	 * Runs a part of the handler once per key: its result is stored as JSON, and a later run of the same key returns it without calling `fn`.
	 * Without protection it calls `fn` with a random key.
	 *
	 * @example
	 * const charge = await context.step('charge', ({ idempotencyKey }) => stripe.charge(order, { idempotencyKey }))
	 */
	step<T>(name: string, fn: (context: StepContext) => T | Promise<T>): Promise<Jsonified<T>>
	/**
	 * Commits the writes of `fn` and the stored response together, on PostgreSQL and SQLite. A response that is not stored, such as one with
	 * status 500, rolls back. Returns the response; on Node, Express and Fastify it is also sent. Steps run before it, not inside.
	 *
	 * @example
	 * return context.transaction(async (tx) => {
	 *   const order = await insertOrder(tx, body)
	 *   return Response.json(order, { status: 201 })
	 * })
	 */
	transaction(fn: (tx: Tx) => Response | Promise<Response>): Promise<Response>
}

/** `claim` is undefined without protection. `send` delivers the response of a transaction, where a handler does not return one. */
export function idempotencyContext<Tx>(
	engine: IdempotencyEngine<Tx>,
	claim: Claim | undefined,
	request: Pick<IncomingRequest, 'method' | 'path'>,
	send?: (response: Response) => unknown,
): IdempotencyContext<Tx> {
	let openTransactions = 0
	return {
		isProtected: claim !== undefined,
		isRerun: claim?.hasSteps === true,
		get signal() {
			return claim?.signal
		},
		step: async (name, fn) => {
			if (openTransactions > 0) throw stepInTransactionError(name)
			if (claim) return claim.step(name, fn)
			return JSON.parse(encodeStepValue(await fn({ idempotencyKey: crypto.randomUUID() }))).value
		},
		transaction: async (fn) => {
			const response = await runTransaction(engine, claim, request, async (tx) => {
				openTransactions++
				try {
					return await fn(tx)
				} finally {
					openTransactions--
				}
			})
			await send?.(response)
			return response
		},
	}
}
