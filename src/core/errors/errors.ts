/**
 * The errors of the package. What a program needs (which policy rejected, when to retry, which option is
 * wrong) is in fields; the message is for people and may change. Where two copies of the package or two
 * realms may meet, match on `code` or `name` instead of `instanceof`.
 */
import type { YaokiErrorCode } from './codes.ts'

/**
 * Base class of every error that the package creates. Compare its `code`, which also works with two copies of
 * the package, or use `instanceof`. Errors thrown by user code are never wrapped.
 */
export class YaokiError extends Error {
	override readonly name: string = 'YaokiError'
	/** Stable across versions, realms and copies of the package: `YAOKI_TIMEOUT`, `YAOKI_CIRCUIT_OPEN`, ... */
	readonly code: YaokiErrorCode
	constructor(code: YaokiErrorCode, message: string, options?: ErrorOptions) {
		super(message, options)
		this.code = code
	}

	/**
	 * @internal Returns the error as other callers may see it, as the cause of their rejection by a breaker.
	 */
	toCause(): YaokiError {
		return this
	}
}

const INVALID_OPTION = 'YAOKI_INVALID_OPTION'

/** What makes an option name unknown: whose options they are, and which names are valid. */
export interface UnknownOption {
	/** The function or policy that takes the options, such as `retry`. */
	readonly owner?: string | undefined
	/** The nearest valid name, if one is near enough to be a typo. */
	readonly suggestion?: string | undefined
}

/**
 * An option has an invalid value or an unknown name. Functions that create policies and clients throw it;
 * calls with invalid options reject with it. Fix `optionPath`: `expected` says what is valid, and
 * `suggestion` corrects a typing error.
 *
 * @example
 * retry({ maxRetries: 1.5 }) // => throws Invalid option "maxRetries": expected an integer, 0 or more, got 1.5
 */
export class InvalidOptionError extends YaokiError {
	override readonly name = 'InvalidOptionError'
	/** The option, with the path to it inside nested options: `circuitBreaker.failureThreshold`. */
	readonly optionPath: string
	/** The value that was passed; of a URL without its password. */
	readonly received: unknown
	/**
	 * What is valid: a phrase such as `an integer, 0 or more`. For an unknown name, the list of valid names.
	 */
	readonly expected: string
	/** The nearest valid name, if the name is unknown and looks like a typo. */
	readonly suggestion: string | undefined
	/** Whose options they are, such as `retry`, if the name is unknown. */
	readonly owner: string | undefined
	/** True if there is no option of this name. */
	readonly isUnknown: boolean

	constructor(
		optionPath: string,
		received: unknown,
		expected: string,
		unknown?: UnknownOption,
		options?: ErrorOptions,
	) {
		const shown = withoutPassword(received)
		super(
			INVALID_OPTION,
			unknown
				? unknownMessage(optionPath, expected, unknown)
				: invalidMessage('option', optionPath, shown, expected),
			options,
		)
		this.optionPath = optionPath
		this.received = shown
		this.expected = expected
		this.suggestion = unknown?.suggestion
		this.owner = unknown?.owner
		this.isUnknown = unknown !== undefined
	}
}

/**
 * An argument that is not an option is invalid: a function, a policy, a duration, a text to be read. The
 * function throws it, or rejects with it if it is asynchronous. Fix `argument`: `expected` says what is
 * valid.
 *
 * @example
 * timeout(-1) // => throws Invalid argument "ms": expected a finite number, 0 or more, got -1
 */
export class InvalidArgumentError extends YaokiError {
	override readonly name = 'InvalidArgumentError'
	/** The name of the argument, such as `fn`, or the path to the invalid part of it: `snapshot.state`. */
	readonly argument: string
	/** The value that was passed; of a URL without its password. */
	readonly received: unknown
	/** What is valid: a phrase such as `a function`. */
	readonly expected: string

	constructor(argument: string, received: unknown, expected: string, options?: ErrorOptions) {
		const shown = withoutPassword(received)
		super('YAOKI_INVALID_ARGUMENT', invalidMessage('argument', argument, shown, expected), options)
		this.argument = argument
		this.received = shown
		this.expected = expected
	}
}

/**
 * A connection string in the place of a client is an easy mistake, and errors are logged with their fields. A
 * password may contain an @.
 */
const withoutPassword = (value: unknown): unknown =>
	typeof value === 'string' ? value.replace(/\S+/g, hidePassword) : value

/** In two steps, because one pattern would take quadratic time for a long text. */
function hidePassword(word: string): string {
	const to = word.lastIndexOf('@')
	return to < 0 ? word : word.slice(0, to).replace(/(:\/\/[^:/]*:).*/, '$1***') + word.slice(to)
}

const invalidMessage = (what: string, name: string, received: unknown, expected: string): string =>
	`Invalid ${what} "${name}": expected ${expected}, got ${show(received)}`

function unknownMessage(path: string, names: string, { owner, suggestion }: UnknownOption): string {
	const what = `Unknown option "${path}"${owner ? ` for ${owner}` : ''}.`
	return suggestion ? `${what} Did you mean "${suggestion}"?` : `${what} Valid options: ${names}`
}

function show(value: unknown): string {
	try {
		if (typeof value === 'string') return `"${value}"`
		if (typeof value === 'function') return 'a function'
		return Array.isArray(value) ? `[${value.map(show)}]` : String(value)
	} catch {
		// Not every value converts to a string: a JSON file may contain `{ "toString": 1 }`.
		return typeof value
	}
}

/** The name of a pipeline that was given none. */
export const UNNAMED = 'pipeline'

/** Returns the name of a pipeline; undefined if it has none, or is the policy alone. */
export const pipelineNameOf = (pipeline: string | undefined, policy: string): string | undefined =>
	pipeline === UNNAMED || pipeline === policy ? undefined : pipeline

/** Begins the message of a policy's error: `payments/circuitBreaker: circuit is open, ...`. */
function prefixed(policy: string, pipeline: string | undefined, message: string): string {
	const name = pipelineNameOf(pipeline, policy)
	return `${name === undefined ? '' : `${name}/`}${policy}: ${message}`
}

/** Returns a duration for a message: milliseconds, or seconds with at most one digit after the point. */
export const formatMs = (ms: number): string =>
	ms < 1_000 ? `${Math.round(ms)} ms` : `${Math.round(ms / 100) / 10} s`

const retryIn = (ms: number): string => `retry in ${formatMs(ms)}`

/**
 * The circuit is open or isolated: `circuitBreaker` rejects with it, and the operation was not called. Use a
 * fallback, or try again after `retryAfterMs`. `cause` is the error that opened the circuit, if there is one:
 * an error of another call.
 */
export class CircuitOpenError extends YaokiError {
	override readonly name = 'CircuitOpenError'
	/** The name of the breaker that rejected the call. */
	readonly policy: string
	/** The name of the pipeline that the call ran through, if it has one. */
	readonly pipeline: string | undefined
	/** When a call may be let in again, in milliseconds from now; Infinity while the circuit is isolated. */
	readonly retryAfterMs: number

	constructor(policy: string, retryAfterMs: number, options?: ErrorOptions, pipeline?: string) {
		super(CIRCUIT_OPEN, circuitOpenMessage(policy, retryAfterMs, pipeline), options)
		this.policy = policy
		this.pipeline = pipelineNameOf(pipeline, policy)
		this.retryAfterMs = retryAfterMs
	}
}

export const CIRCUIT_OPEN = 'YAOKI_CIRCUIT_OPEN'

export const circuitOpenMessage = (policy: string, retryAfterMs: number, pipeline?: string): string =>
	prefixed(
		policy,
		pipeline,
		retryAfterMs < Infinity
			? `circuit is open, ${retryIn(retryAfterMs)}`
			: 'circuit is isolated until it is released',
	)

/**
 * The bulkhead and its queue are full, or the call waited in the queue for too long. `bulkhead` and
 * `adaptiveBulkhead` reject with it; the operation was not called. Shed the load, or raise `maxConcurrent` if
 * the dependency can handle more.
 */
export class BulkheadRejectedError extends YaokiError {
	override readonly name = 'BulkheadRejectedError'
	/** The name of the bulkhead that rejected the call. */
	readonly policy: string
	/** The name of the pipeline that the call ran through, if it has one. */
	readonly pipeline: string | undefined
	/**
	 * `nested-call`: no slot was free, and the call was made inside a call that holds a slot of the same
	 * bulkhead.
	 */
	readonly reason: 'bulkhead-full' | 'queue-timeout' | 'nested-call'

	constructor(policy: string, reason: BulkheadRejectedError['reason'], message: string, pipeline?: string) {
		super('YAOKI_BULKHEAD_REJECTED', prefixed(policy, pipeline, message))
		this.policy = policy
		this.pipeline = pipelineNameOf(pipeline, policy)
		this.reason = reason
	}
}

/**
 * The operation took longer than its timeout. `timeout` and HTTP clients reject with it, never for the
 * caller's own abort. The operation may still take effect.
 */
export class TimeoutError extends YaokiError {
	override readonly name = 'TimeoutError'
	/** The name of the timeout policy. */
	readonly policy: string
	/** The name of the pipeline that the call ran through, if it has one. */
	readonly pipeline: string | undefined
	readonly timeoutMs: number

	constructor(policy: string, timeoutMs: number, pipeline?: string) {
		super('YAOKI_TIMEOUT', prefixed(policy, pipeline, `no result within ${Math.round(timeoutMs)} ms`))
		this.policy = policy
		this.pipeline = pipelineNameOf(pipeline, policy)
		this.timeoutMs = timeoutMs
	}
}

/**
 * The caller's deadline has expired, or too little time is left to wait in the queue of a bulkhead. Policies
 * and HTTP clients reject with it; a retry that stops before the deadline throws the last error instead. Do
 * not retry: the caller no longer waits. `child` and `throwIfExpired` of a `Deadline` throw it too.
 */
export class DeadlineExceededError extends YaokiError {
	override readonly name = 'DeadlineExceededError'
	/**
	 * The policy that rejected the call, because too little time was left; undefined if the deadline expired.
	 */
	readonly policy: string | undefined
	/** The name of the pipeline of that policy, if it has one. */
	readonly pipeline: string | undefined

	constructor(message = 'deadline exceeded', policy?: string, pipeline?: string) {
		super('YAOKI_DEADLINE_EXCEEDED', policy === undefined ? message : prefixed(policy, pipeline, message))
		this.policy = policy
		this.pipeline = policy === undefined ? undefined : pipelineNameOf(pipeline, policy)
	}
}

/**
 * A rate limiter or a throttle rejected the call, and the operation was not called. `rateLimiter`,
 * `adaptiveThrottle` and a pause by Retry-After in an HTTP client reject with it. Try again after
 * `retryAfterMs`.
 */
export class RateLimitedError extends YaokiError {
	override readonly name = 'RateLimitedError'
	/** The name of the policy that rejected the call. */
	readonly policy: string
	/** The name of the pipeline that the call ran through, if it has one. */
	readonly pipeline: string | undefined
	/** When a call may be let in again. Undefined for an adaptive throttle, which rejects at random. */
	readonly retryAfterMs: number | undefined
	/** The time that was left, if the call was rejected because it could not wait that long. */
	readonly remainingMs: number | undefined

	/** `reason` is the text of the message, without the names. Default: that a rate limit was reached. */
	constructor(
		policy: string,
		retryAfterMs?: number,
		pipeline?: string,
		remainingMs?: number,
		reason: string = retryAfterMs === undefined
			? 'rate limit reached'
			: `rate limit reached, ${retryIn(retryAfterMs)}`,
	) {
		const left = remainingMs === undefined ? '' : `, ${formatMs(remainingMs)} left for the call`
		super('YAOKI_RATE_LIMITED', prefixed(policy, pipeline, reason + left))
		this.policy = policy
		this.pipeline = pipelineNameOf(pipeline, policy)
		this.retryAfterMs = retryAfterMs
		this.remainingMs = remainingMs
	}
}

/** How much of a body a message quotes. */
const MAX_QUOTED = 200

/** Returns the start of a text for a message, on one line; empty for other bodies. */
export function quoteBody(body: unknown): string {
	if (typeof body !== 'string') return ''
	const line = body
		.slice(0, MAX_QUOTED)
		.replace(/[\s\p{Cc}\p{Cs}]+/gu, ' ')
		.trim()
	return line && `: ${line}`
}

/**
 * An HTTP response that is not a success. `ResilientHttpClient` and `retryWithRetryAfter` throw it, and your
 * own code may; decide by `statusCode` and `body`. The message quotes the first 200 characters of a `body`
 * that is a string. The HttpErrors of `yaoki/http` do not quote it.
 *
 * @example
 * if (!response.ok) throw new HttpError(response.status, await response.text())
 */
export class HttpError extends YaokiError {
	override readonly name = 'HttpError'
	readonly statusCode: number
	readonly body: unknown
	/** The wait that the server asked for with Retry-After, if it did. */
	readonly retryAfterMs: number | undefined
	/** The time that was left, if a request was not retried because the server asked for a longer wait. */
	declare readonly remainingMs?: number | undefined
	/**
	 * The response itself, with its headers, if `yaoki/http` threw the error. In hooks of an adapter it has
	 * only the commonly used part of a `Response`.
	 */
	declare readonly response?: Response | undefined

	constructor(
		statusCode: number,
		body?: unknown,
		options?: ErrorOptions & { retryAfterMs?: number | undefined },
	) {
		super('YAOKI_HTTP', `HTTP ${statusCode}${quoteBody(body)}`, options)
		this.statusCode = statusCode
		this.body = body
		this.retryAfterMs = options?.retryAfterMs
	}

	/** The same as `statusCode`, under the name that `fetch` uses. */
	get status(): number {
		return this.statusCode
	}
}
