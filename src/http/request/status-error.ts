import { HttpError } from '../../core/errors/errors.ts'
import type { HttpResponse } from '../transport/transport.ts'

/**
 * An answer with a status of 400 or more, while it is decided upon; what the client throws in the end. `response` is the
 * answer itself, with its headers.
 *
 * @example
 * const error = await client.get(url).catch((error) => error)
 * if (error.name === 'HttpError') console.log(error.statusCode, error.body, error.response.headers.get('x-request-id'))
 */
export class HttpStatusError extends HttpError {
	override body: unknown = undefined
	readonly response: HttpResponse
	/** Private, for in the logs of those who catch the error it would be of no use. */
	readonly #asked: RetryAfterFacts

	constructor(response: HttpResponse, asked: RetryAfterFacts = NOTHING) {
		super(response.status, undefined, { retryAfterMs: asked.retryAfterMs })
		this.response = response
		this.#asked = asked
	}

	/** How long the next attempt waits because the server said so: with jitter, and at most what is allowed. */
	get waitMs(): number | undefined {
		return this.#asked.waitMs
	}

	/** Does the server ask for a longer wait than is allowed? */
	get isTooLong(): boolean {
		return this.#asked.isTooLong === true
	}

	/** Is the request that this answers still being worked on, as its key shows? */
	get isInProgress(): boolean {
		return this.#asked.isInProgress === true
	}
}

/** What a failed answer asks for. */
export interface RetryAfterFacts {
	readonly retryAfterMs?: number | undefined
	readonly waitMs?: number | undefined
	readonly isTooLong?: boolean
	readonly isInProgress?: boolean
}

const NOTHING: RetryAfterFacts = {}
