/**
 * What modelled services fail with: errors that look to every policy like the real ones, but for their stack. Taking a stack
 * costs more than the rest of a simulated call, and here it would only show the simulator.
 */
import { HttpError, InvalidOptionError, YaokiError } from '../../core/errors/errors.ts'

/** An HttpError to whoever asks. */
class Answered {
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
Object.setPrototypeOf(Answered.prototype, HttpError.prototype)

/** An Error with a code, as sockets and databases throw them. */
class Coded {
	readonly name = 'Error'
	readonly message: string
	readonly code: string

	constructor(code: string, message: string) {
		this.code = code
		this.message = message
	}
}
Object.setPrototypeOf(Coded.prototype, Error.prototype)

/** A failure, as an error that was never thrown. */
export type Failure = Answered | Coded

export const status = (code: number, retryAfterMs?: number, cause?: unknown): Failure =>
	new Answered(code, retryAfterMs, cause)

/** Nobody listens there. */
export const refusedConnection = (): Failure => new Coded('ECONNREFUSED', 'connect ECONNREFUSED')

/** It went down in the middle of it. */
export const resetConnection = (): Failure => new Coded('ECONNRESET', 'read ECONNRESET')

/** Somebody else has written in between. */
export const conflict = (): Failure => new Coded('40001', 'the row has been changed since it was read')

/** Is it what services and policies fail with? Anything else was thrown by a function of the user's, or because of one. */
export const isExpected = (error: unknown): boolean =>
	error instanceof Coded || (error instanceof YaokiError && !(error instanceof InvalidOptionError))
