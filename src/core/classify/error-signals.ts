/**
 * Everything that an error says about itself, line by line in one text: codes, names, messages, statuses, and those of its
 * causes. Errors come from a hundred libraries and no two keep the same thing in the same place; once it is gathered,
 * one ordered list of patterns answers for all of them. (The rejected design, a check for each place, was twice the size
 * and had to repeat its order of precedence at every level of nesting.)
 */
import { isAmount } from '../options/schema.ts'
import { isMarkedPermanent } from './permanent.ts'

/** Errors nest, even in rings, and an aggregate may hold thousands. More than this are not worth more steps. */
const MOST_ERRORS = 99

/** Messages can hold whole documents. What a client says of a failure stands at their beginning. */
const LONGEST_MESSAGE = 256

/** What any library's error may have. Each is checked where it is used. */
interface ErrorLike {
	readonly message?: unknown
	readonly code?: unknown
	readonly name?: unknown
	readonly errno?: unknown
	readonly reason?: unknown
	readonly sqlState?: unknown
	readonly status?: unknown
	readonly statusCode?: unknown
	readonly response?: ErrorLike
	readonly $metadata?: { readonly httpStatusCode?: unknown }
	readonly $retryable?: { readonly throttling?: unknown }
	readonly details?: unknown
	readonly metadata?: unknown
	readonly issues?: unknown
	readonly retryAfterMs?: unknown
	readonly cause?: unknown
	readonly errors?: unknown
}

const isErrorLike = (value: unknown): value is ErrorLike => typeof value === 'object' && value !== null

/** An HTTP status that tells of an error, or 0. */
function errorStatus(value: unknown): number {
	const status = value === undefined ? 0 : Number(value)
	return status >= 400 && status < 600 ? status : 0
}

/** Most errors are called just that, which says nothing. */
const line = (text: unknown): string =>
	typeof text === 'string' && text !== 'Error' ? `${text.slice(0, LONGEST_MESSAGE)}\n` : ''

/** What has been gathered from one error and all that is inside it. */
export class Clues {
	text = ''
	/** The longest wait that any of them asks for. */
	retryAfterMs: number | undefined
	/** Made when there is something inside the first. */
	#seen: unknown[] | undefined

	add(error: unknown): this {
		if (!isErrorLike(error)) {
			this.text += line(error)
			return this
		}
		const { code, retryAfterMs, $retryable, errors, cause } = error
		if (cause !== undefined || errors !== undefined) {
			this.#seen ??= []
			if (this.#seen.length > MOST_ERRORS || this.#seen.includes(error)) return this
			this.#seen.push(error)
		}
		if (isAmount(retryAfterMs)) this.retryAfterMs = Math.max(retryAfterMs, this.retryAfterMs ?? 0)
		this.text += line(code) + line(error.name) + line(error.errno) + line(error.reason) + line(error.sqlState)
		if ($retryable) this.text += $retryable.throttling ? 'throttling\n' : 'retryable\n'
		if (Array.isArray(error.issues) || isMarkedPermanent(error)) this.text += 'permanent\n'
		const http = statusOf(error)
		const parts: readonly unknown[] = Array.isArray(errors) ? errors.slice(0, MOST_ERRORS) : []
		// Who has an answer from a server needs no cause to explain it, and what messages quote (a URL, a body) could only
		// mislead; a reason among the parts is GCP's word for it. A 413 that says when to come back is a 429.
		if (http) for (const part of parts) this.text += line(isErrorLike(part) ? part.reason : undefined)
		else for (const part of parts) this.add(part)
		// A DOMException has small numeric codes of its own, so a gRPC code needs gRPC's other marks beside it.
		const isGrpc = typeof code === 'number' && code > 0 && code < 17
		if (isGrpc && (error.details ?? error.metadata) !== undefined) this.text += `grpc ${code}\n`
		else if (http) this.text += `http ${http === 413 && retryAfterMs !== undefined ? 429 : http}\n`
		else {
			this.text += line(error.message)
			if (cause !== undefined) this.add(cause)
		}
		return this
	}
}

const statusOf = ({ status, statusCode, response, $metadata, code }: ErrorLike): number =>
	errorStatus(status) ||
	errorStatus(statusCode) ||
	errorStatus(response?.status) ||
	errorStatus(response?.statusCode) ||
	errorStatus($metadata?.httpStatusCode) ||
	errorStatus(code)
