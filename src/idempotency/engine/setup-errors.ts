/**
 * Errors of a store that only a person ends: its tables are missing or have another version, or the database
 * user may not use them. Clients that repeat the request later, as after an outage, would repeat it forever.
 * So it is answered with 500, does not count for the circuit breaker, which would hide the cause, and is
 * printed: a program without a listener would not show it. The store is asked each time, and works as soon as
 * it is set up.
 */
import { classify } from '../../core/classify/classify.ts'
import { safeGet } from '../../core/classify/safe-get.ts'
import { NewMessages } from './new-messages.ts'

export const isSetupError = (error: unknown): boolean =>
	safeGet(error, 'code') === 'YAOKI_IDEMPOTENCY_SCHEMA' || classify(error).kind === 'permanent'

/** Prints each message once. */
export class SetupErrorReports {
	readonly #name: string
	readonly #messages = new NewMessages()

	constructor(name: string) {
		this.#name = name
	}

	add(error: unknown): void {
		if (!isSetupError(error)) return
		const message = this.#messages.find(error)
		if (message === undefined) return
		console.error(
			`yaoki: idempotency engine "${this.#name}" cannot use its store, requests with a key fail: ${message}`,
		)
	}
}
