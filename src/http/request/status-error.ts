import { HttpError } from '../../core/errors/errors.ts'
import { readRetryAfter } from '../headers/retry-headers.ts'
import type { HttpSettings } from '../options/http-options.ts'
import { type HttpResponse, headersOf } from '../transport/response.ts'

/** What the retry decision needs to know about a failed response. */
export interface StatusFacts {
	/** What the server asked for. */
	readonly retryAfterMs?: number | undefined
	/** How long the next attempt waits because of it, before the jitter: at most `maxRetryAfterMs`. */
	readonly waitMs?: number | undefined
	/** True if the server asks for more than `maxRetryAfterMs`. */
	readonly isTooLong?: boolean
	/** True if an earlier attempt with the same idempotency key is still in progress. */
	readonly isInProgress?: boolean
}

const NO_FACTS: StatusFacts = {}

/** Returns true for a status that says: the server cannot handle requests now. */
export const isUnavailable = (status: number): boolean => status === 429 || status >= 500

/** Reads what a failed response says about the next attempt. */
export function readStatusFacts(
	response: HttpResponse,
	{ maxRetryAfterMs, longRetryAfter }: HttpSettings,
	hasIdempotencyKey: boolean,
	wallNow: number,
): StatusFacts {
	const retryAfterMs = readRetryAfter(headersOf(response), wallNow)
	if (retryAfterMs === undefined) return NO_FACTS
	const isInProgress = response.status === 409 && hasIdempotencyKey
	const isLong = retryAfterMs > maxRetryAfterMs
	if (isLong && longRetryAfter === 'ignore') return { isInProgress }
	const isTooLong = isLong && longRetryAfter === 'fail'
	const waitMs = isTooLong ? retryAfterMs : Math.min(retryAfterMs, maxRetryAfterMs)
	return { retryAfterMs, waitMs, isTooLong, isInProgress }
}

/**
 * The error for a response with a status of 400 or more. `response` is the response itself, with its headers.
 *
 * @example
 * const error = await client.get(url).catch((error) => error)
 * if (error.name === 'HttpError') console.log(error.statusCode, error.body, error.response?.headers.get('x-request-id'))
 */
export class HttpStatusError extends HttpError {
	override body: unknown = undefined
	/** The time that was left, if the request was not retried because the server asked for a longer wait. */
	override remainingMs: number | undefined = undefined
	/** Private, so that loggers do not print it: a response shows its URL, with the query, and its headers. */
	readonly #response: HttpResponse
	readonly #facts: StatusFacts

	/** @internal */
	constructor(response: HttpResponse, facts: StatusFacts = NO_FACTS) {
		super(response.status, undefined, { retryAfterMs: facts.retryAfterMs })
		this.#response = response
		this.#facts = facts
	}

	/** @internal Without the response, which belongs to the caller who received it. */
	override toCause(): HttpError {
		return new HttpError(this.statusCode, undefined, { retryAfterMs: this.retryAfterMs })
	}

	/**
	 * The response itself, with its headers. In hooks of an adapter it has only the commonly used part of a
	 * `Response`.
	 */
	declare readonly response: Response
	static {
		// The compiler does not accept an accessor in place of a property, and core's class must not have one:
		// its errors have no response.
		Object.defineProperty(HttpStatusError.prototype, 'response', {
			configurable: true,
			get(this: HttpStatusError) {
				return this.#response
			},
		})
	}

	/** @internal */
	static factsOf(error: HttpStatusError): StatusFacts {
		return error.#facts
	}
}

/** Returns true for a 409 that says: the server still processes an earlier attempt with the same key. */
export const isInProgressError = (error: unknown): boolean =>
	error instanceof HttpStatusError && HttpStatusError.factsOf(error).isInProgress === true

/** Replaces the message of an error, in its stack too: that is what logs print. */
export function setMessage(error: Error, message: string): void {
	const { message: previous, stack } = error
	error.message = message
	if (stack) error.stack = stack.replace(previous, () => message)
}
