/**
 * The failures of simulated services. Policies cannot distinguish them from real errors, but they have no
 * stack: capturing one costs more than the rest of a simulated call and would only show the simulator.
 */
import { HttpError, InvalidArgumentError, InvalidOptionError, YaokiError } from '../../core/errors/errors.ts'

class StatusFailure {
	readonly name = 'HttpError'
	readonly code = 'YAOKI_HTTP'
	readonly message: string
	readonly statusCode: number
	readonly body = undefined
	readonly retryAfterMs: number | undefined
	readonly cause: unknown

	constructor(statusCode: number, retryAfterMs?: number, cause?: unknown) {
		this.message = `HTTP ${statusCode}`
		this.statusCode = statusCode
		this.retryAfterMs = retryAfterMs
		this.cause = cause
	}
}
Object.setPrototypeOf(StatusFailure.prototype, HttpError.prototype)

/** Passes for an Error with a code, as sockets and databases throw them. */
class CodeFailure {
	readonly name = 'Error'
	readonly message: string
	readonly code: string

	constructor(code: string, message: string) {
		this.code = code
		this.message = message
	}
}
Object.setPrototypeOf(CodeFailure.prototype, Error.prototype)

/** An error that was never thrown. */
export type Failure = StatusFailure | CodeFailure

export const status = (code: number, retryAfterMs?: number, cause?: unknown): Failure =>
	new StatusFailure(code, retryAfterMs, cause)

export const refusedConnection = (): Failure => new CodeFailure('ECONNREFUSED', 'connect ECONNREFUSED')

export const resetConnection = (): Failure => new CodeFailure('ECONNRESET', 'read ECONNRESET')

export const conflict = (): Failure => new CodeFailure('40001', 'the row has been changed since it was read')

/** Returns true for failures of services and policies. Anything else was thrown by user code, or because of it. */
export const isExpected = (error: unknown): boolean =>
	error instanceof CodeFailure ||
	(error instanceof YaokiError &&
		!(error instanceof InvalidOptionError) &&
		!(error instanceof InvalidArgumentError))
