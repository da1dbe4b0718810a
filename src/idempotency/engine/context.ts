/** What a handler or a function gets, and how it is found by its request. */
import type { Jsonified } from '../../core/json/jsonified.ts'
import { checkNames, invalidOption } from '../../core/options/schema.ts'
import type { Queryable } from '../../sql/clients.ts'
import { decodeStepValue, encodeStepValue, type IdempotencyClaim, type StepContext } from './claim.ts'
import { completeInTransactionError, stepInTransactionError } from './errors.ts'
import type { IdempotencyRequest } from './options.ts'
import { type Outcome, responseOutcome, valueOutcome } from './outcome.ts'
import type { EngineParts } from './running-claims.ts'
import { completeIn, runTransaction } from './transaction.ts'

interface CompleteOptions {
	/**
	 * Your open transaction, as `outbox.enqueue` takes it: a `pg` client, a PGlite transaction, a database of
	 * `node:sqlite` or `better-sqlite3`, the transaction of an ORM through its function, such as `prismaTx(tx)`,
	 * or any object with `query(text, values)` that returns rows.
	 */
	readonly tx: Queryable
}

interface ContextBase {
	/** True if repetitions get the result of this run. False without a key, and if the store has failed. */
	readonly isProtected: boolean
	/** True if an earlier run of this key stored steps and did not complete. */
	readonly isRerun: boolean
	/** Aborted when the lease is lost: another request may run with this key. */
	readonly signal: AbortSignal | undefined
	/**
	 * Runs a part of the handler once per key: its result is stored as JSON, and a later run of the same key
	 * returns it without calling `fn`. Without protection it calls `fn` with a random key.
	 *
	 * @example
	 * const charge = await context.step('charge', ({ idempotencyKey }) => stripe.charge(order, { idempotencyKey }))
	 */
	step<T>(name: string, fn: (context: StepContext) => T | Promise<T>): Promise<Jsonified<T>>
}

/**
 * Steps that run once per key, and a transaction that contains the stored response. `engine.context(request)`
 * returns it; handlers of `fetchIdempotency` and `nodeIdempotency` get it as an argument.
 */
export interface IdempotencyContext<Tx = unknown> extends ContextBase {
	/**
	 * Commits the writes of `fn` and the stored response together, on PostgreSQL and SQLite. A response that is
	 * not stored, such as one with status 500, rolls back. Returns the response; on Node, Express and Fastify
	 * it is also sent. Steps run before it, not inside.
	 *
	 * @example
	 * return context.transaction(async (tx) => {
	 *   const order = await insertOrder(tx, body)
	 *   return Response.json(order, { status: 201 })
	 * })
	 */
	transaction(fn: (tx: Tx) => Response | Promise<Response>): Promise<Response>
	/**
	 * Stores the response in a transaction that you have opened, on PostgreSQL and SQLite: your commit decides.
	 * Call it as the last statement, and send or return the response after the commit; it is not stored again.
	 * Rejects with an `IdempotencyLeaseLostError` if another request may run, and with a
	 * `IdempotencyResponseNotStoredError` for a response that is not stored, such as one with status 500: let
	 * the transaction roll back. Returns the response.
	 *
	 * @example
	 * return prisma.$transaction(async (tx) => {
	 *   const order = await tx.order.create({ data })
	 *   return context.complete(Response.json(order, { status: 201 }), { tx: prismaTx(tx) })
	 * })
	 */
	complete(response: Response, options: CompleteOptions): Promise<Response>
}

/**
 * Steps that run once per key, and a transaction with the stored result. The function of `engine.run` gets
 * it.
 */
export interface IdempotencyRunContext<Tx = unknown> extends ContextBase {
	/**
	 * Commits the writes of `fn` and its result together, on PostgreSQL and SQLite. Return what it returns.
	 * Steps run before it, not inside.
	 */
	transaction<T>(fn: (tx: Tx) => T | Promise<T>): Promise<Jsonified<T>>
	/**
	 * Stores the result in a transaction that you have opened, on PostgreSQL and SQLite: your commit decides.
	 * Call it as the last statement, and return what it returns. Rejects with an `IdempotencyLeaseLostError` if
	 * another run may have the key: let the transaction roll back.
	 */
	complete<T>(result: T, options: CompleteOptions): Promise<Jsonified<T>>
}

/** The contexts of a request by engine, because an application may have several engines. */
const contexts = new WeakMap<object, Map<unknown, unknown>>()

export function keepContext<Tx>(request: object, engine: object, context: IdempotencyContext<Tx>): void {
	contexts.set(request, (contexts.get(request) ?? new Map()).set(engine, context))
}

/** The context of an adapter that ran before: a second claim of the same request would wait for the first. */
export const keptContext = <Tx>(request: object, engine: object): IdempotencyContext<Tx> | undefined =>
	contexts.get(request)?.get(engine) as IdempotencyContext<Tx> | undefined

/** `claim` is undefined without protection. `send` is given if the adapter sends a transaction's response. */
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
			const value = await fn({ idempotencyKey: crypto.randomUUID() })
			return decodeStepValue(name, encodeStepValue(value)) as never
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
