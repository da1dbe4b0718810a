/** Implements what a handler, and a function of `engine.run`, gets. */
import { checkNames, invalidOption } from '../../core/options/schema.ts'
import { decodeStepValue, encodeStepValue, type IdempotencyClaim } from './claim.ts'
import type { EngineParts } from './engine-parts.ts'
import { completeInTransactionError, stepInTransactionError } from './errors.ts'
import type { IdempotencyRequest } from './options.ts'
import { type Outcome, responseOutcome, valueOutcome } from './outcome.ts'
import type { CompleteOptions, IdempotencyContext, IdempotencyRunContext } from './request-context.ts'
import { completeIn, runTransaction } from './transaction.ts'

/** `claim` is undefined without protection. `send` delivers the response of a transaction, where a handler does not return one. */
export function idempotencyContext<Tx>(
	engine: EngineParts<Tx>,
	claim: IdempotencyClaim | undefined,
	request: Pick<IdempotencyRequest, 'method' | 'path'>,
	send?: (response: Response) => unknown,
): IdempotencyContext<Tx> {
	return contextOf<Tx, Response>(engine, claim, responseOutcome(engine, request), send)
}

/** The context of a function. Its results are JSON. */
export const runContext = <Tx>(
	engine: EngineParts<Tx>,
	claim: IdempotencyClaim | undefined,
): IdempotencyRunContext<Tx> =>
	contextOf<Tx, unknown>(engine, claim, valueOutcome(engine)) as IdempotencyRunContext<Tx>

function contextOf<Tx, Result>(
	engine: EngineParts<Tx>,
	claim: IdempotencyClaim | undefined,
	outcomeOf: (result: Result) => Outcome<Result>,
	send?: (result: Result) => unknown,
) {
	let openTransactions = 0
	const context: Omit<IdempotencyContext<Tx>, 'transaction' | 'complete'> = {
		isProtected: claim !== undefined,
		isRerun: claim?.hasSteps === true,
		get signal() {
			return claim?.signal
		},
		step: async (name, fn) => {
			if (openTransactions > 0 || claim?.isBlocked(name)) throw stepInTransactionError(name)
			if (claim) return claim.step(name, fn)
			return decodeStepValue(
				name,
				encodeStepValue(await fn({ idempotencyKey: crypto.randomUUID() })),
			) as never
		},
	}
	return Object.assign(context, {
		transaction: async (fn: (tx: Tx) => Result | Promise<Result>): Promise<Result> => {
			const result = await runTransaction(engine, claim, async (tx) => {
				openTransactions++
				try {
					return outcomeOf(await fn(tx))
				} finally {
					openTransactions--
				}
			})
			await send?.(result)
			return result
		},
		complete: async (given: Result, options: CompleteOptions): Promise<Result> => {
			checkNames(options, { tx: 'any' }, 'complete')
			if (options.tx === undefined)
				invalidOption('tx', undefined, 'your open transaction: context.complete(response, { tx })')
			if (openTransactions > 0) throw completeInTransactionError()
			return completeIn(engine, claim, options.tx, outcomeOf(given))
		},
	})
}
