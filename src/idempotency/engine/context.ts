/** Implements what a handler gets. */
import { type Claim, encodeStepValue } from './claim.ts'
import type { IdempotencyEngine } from './engine.ts'
import { stepInTransactionError } from './errors.ts'
import type { IncomingRequest } from './options.ts'
import type { IdempotencyContext } from './request-context.ts'
import { runTransaction } from './transaction.ts'

/** `claim` is undefined without protection. `send` delivers the response of a transaction, where a handler does not return one. */
export function idempotencyContext<Tx>(
	engine: IdempotencyEngine<Tx, never>,
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
