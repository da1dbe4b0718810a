/** What a handler gets. */
import type { Claim, StepContext } from './claim.ts'

export interface IdempotencyContext {
	/** True if repeated requests get the response of this one. False without a key, and if the store failed and `onStoreError` is `'pass'`. */
	readonly isProtected: boolean
	/** True if an earlier run of this key stored steps and did not complete. */
	readonly isRerun: boolean
	/** Aborted when the lease is lost: another request may run with this key. */
	readonly signal: AbortSignal | undefined
	/**
	 * Runs a part of the handler once per key: its result, a JSON value, is stored, and a later run of the same key returns it without calling `fn`.
	 * Without protection it calls `fn` with a random key.
	 *
	 * @example
	 * const charge = await context.step('charge', ({ idempotencyKey }) => stripe.charge(order, { idempotencyKey }))
	 */
	step<T>(name: string, fn: (context: StepContext) => T | Promise<T>): Promise<T>
}

export const idempotencyContext = (claim: Claim | undefined): IdempotencyContext => ({
	isProtected: claim !== undefined,
	isRerun: claim?.hasSteps === true,
	get signal() {
		return claim?.signal
	},
	step: async (name, fn) => (claim ? claim.step(name, fn) : fn({ idempotencyKey: crypto.randomUUID() })),
})
