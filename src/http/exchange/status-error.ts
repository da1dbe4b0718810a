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
	/** How long the next attempt waits because the server said so: with jitter, and at most what is allowed. */
	readonly waitMs: number | undefined
	/** Does the server ask for a longer wait than is allowed? */
	readonly isTooLong: boolean
	/** Is the request that this answers still being worked on, as its key shows? */
	readonly isInProgress: boolean

	constructor(response: HttpResponse, asked: Asked = NOTHING) {
		super(response.status, undefined, { retryAfterMs: asked.retryAfterMs })
		this.response = response
		this.waitMs = asked.waitMs
		this.isTooLong = asked.isTooLong === true
		this.isInProgress = asked.isInProgress === true
	}
}

/** What a failed answer asks for. */
export interface Asked {
	readonly retryAfterMs?: number | undefined
	readonly waitMs?: number | undefined
	readonly isTooLong?: boolean
	readonly isInProgress?: boolean
}

const NOTHING: Asked = {}

/** A header of a response. What undici's `request` gives answers without making a `Headers` of all of them. */
export function headerOf(response: HttpResponse, name: string): string | null {
	return hasHeader(response) ? response.header(name) : response.headers.get(name)
}

const hasHeader = (
	response: HttpResponse,
): response is HttpResponse & { header(name: string): string | null } => 'header' in response
