/**
 * Errors of a store that only an operator can end: its tables are missing or have another version, or the database
 * user may not use them. Clients that repeat the request later, as after an outage, would repeat it forever.
 * So the request gets 500, the error does not count for the circuit breaker, which would hide the cause, and
 * it is printed, because a program without a listener would not show it. Each request asks the store again, so
 * that it works as soon as it is set up.
 */
import { classify } from '../../core/classify/classify.ts'
import { safeGet } from '../../core/classify/safe-get.ts'
import { printOnce } from '../../core/options/print-once.ts'

export const isSetupError = (error: unknown): boolean =>
	safeGet(error, 'code') === 'YAOKI_IDEMPOTENCY_SCHEMA' || classify(error).kind === 'permanent'

/** Returns a function that prints the message of a setup error once, and ignores other errors. */
export function setupErrorPrinter(name: string): (error: unknown) => void {
	const print = printOnce((message) =>
		console.error(
			`yaoki: idempotency engine "${name}" cannot use its store, requests with a key fail: ${message}`,
		),
	)
	return (error) => {
		if (isSetupError(error)) print(error)
	}
}
