/**
 * The errors of the toolkit. Each answers the next question: what refused, and when to come back. Match on `code` or
 * `name` rather than `instanceof` where two copies of the package, or two realms, may meet.
 */

/** The root of every error that the toolkit itself makes. A user's own error is never wrapped in one. */
export class YaokiError extends Error {
	override readonly name: string = 'YaokiError'
	/** Stable across versions, realms and copies of the package: `YAOKI_TIMEOUT`, `YAOKI_CIRCUIT_OPEN`, ... */
	readonly code: string
	constructor(code: string, message: string, options?: ErrorOptions) {
		super(message, options)
		this.code = code
	}
}

const show = (value: unknown): string => {
	try {
		return typeof value === 'string' ? `'${value}'` : Array.isArray(value) ? `[${value}]` : String(value)
	} catch {
		// Not everything has a text: a file may hold `{ "toString": 1 }`.
		return typeof value
	}
}

/**
 * An option that can not work, refused when the policy is made.
 *
 * @example
 * retry({ baseDelayMs: -1 }) // baseDelayMs: got -1; takes a finite number, 0 or more
 */
export class InvalidOptionError extends YaokiError {
	override readonly name = 'InvalidOptionError'
	/** The option's name. */
	readonly option: string
	/** What it was given. */
	readonly received: unknown

	constructor(option: string, received: unknown, takes: string) {
		super('YAOKI_INVALID_OPTION', `${option}: got ${show(received)}; takes ${takes}`)
		this.option = option
		this.received = received
	}
}

/** The circuit is open: nothing was called. `retryAfterMs` says when it may be tried again. */
export class CircuitOpenError extends YaokiError {
	override readonly name = 'CircuitOpenError'
	readonly retryAfterMs: number

	constructor(policy: string, retryAfterMs: number) {
		super(CIRCUIT_OPEN, circuitIsOpen(policy, retryAfterMs))
		this.retryAfterMs = retryAfterMs
	}
}

export const CIRCUIT_OPEN = 'YAOKI_CIRCUIT_OPEN'

export function circuitIsOpen(policy: string, retryAfterMs: number): string {
	const when = retryAfterMs < Infinity ? `try again in ${retryAfterMs} ms` : 'it is held open'
	return `${policy}: the circuit is open; ${when}`
}

/** The bulkhead is full, or the wait in its queue took too long: nothing was called. */
export class BulkheadRejectedError extends YaokiError {
	override readonly name = 'BulkheadRejectedError'

	constructor(policy: string, why: string) {
		super('YAOKI_BULKHEAD_REJECTED', `${policy}: ${why}`)
	}
}

/** The work took longer than its timeout. Never the caller's own abort. */
export class TimeoutError extends YaokiError {
	override readonly name = 'TimeoutError'
	readonly timeoutMs: number

	constructor(policy: string, timeoutMs: number) {
		super('YAOKI_TIMEOUT', `${policy}: no answer within ${timeoutMs} ms`)
		this.timeoutMs = timeoutMs
	}
}

/** Nothing is left of the caller's deadline. */
export class DeadlineExceededError extends YaokiError {
	override readonly name = 'DeadlineExceededError'

	constructor(message = 'the deadline has passed') {
		super('YAOKI_DEADLINE_EXCEEDED', message)
	}
}

/** The rate limit is used up: nothing was called. `retryAfterMs` says when there is room again. */
export class RateLimitedError extends YaokiError {
	override readonly name = 'RateLimitedError'
	/** Undefined when a throttle refused, which does so by chance and not for a time. */
	readonly retryAfterMs: number | undefined

	constructor(policy: string, retryAfterMs?: number) {
		const why =
			retryAfterMs === undefined
				? 'the other side accepts too few calls'
				: `the rate limit is used up; try again in ${retryAfterMs} ms`
		super('YAOKI_RATE_LIMITED', `${policy}: ${why}`)
		this.retryAfterMs = retryAfterMs
	}
}

/**
 * An HTTP answer that is not a success.
 *
 * @example
 * if (!response.ok) throw new HttpError(response.status, await response.text())
 */
export class HttpError extends YaokiError {
	override readonly name = 'HttpError'
	readonly statusCode: number
	readonly body: unknown
	/** What the server's Retry-After asked for, if it did. */
	readonly retryAfterMs: number | undefined

	constructor(
		statusCode: number,
		body?: unknown,
		options?: ErrorOptions & { retryAfterMs?: number | undefined },
	) {
		super('YAOKI_HTTP', `HTTP ${statusCode}`, options)
		this.statusCode = statusCode
		this.body = body
		this.retryAfterMs = options?.retryAfterMs
	}
}
