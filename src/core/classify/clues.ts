/**
 * Everything that an error says about itself, line by line in one text: codes, names, messages, statuses, and those of its
 * causes. Errors come from a hundred libraries and no two keep the same thing in the same place; once it is gathered,
 * one ordered list of patterns answers for all of them. (The rejected design, a check for each place, was twice the size
 * and had to repeat its order of precedence at every level of nesting.)
 */
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

export function clues(error: unknown, seen: unknown[] = []): string {
	if (!isErrorLike(error)) return line(error)
	if (seen.length > MOST_ERRORS || seen.includes(error)) return ''
	seen.push(error)
	const { code, response, $metadata, $retryable, errors } = error
	let text = line(code) + line(error.name) + line(error.errno) + line(error.reason)
	if ($retryable) text += $retryable.throttling ? 'throttling\n' : 'retryable\n'
	if (Array.isArray(error.issues) || isMarkedPermanent(error)) text += 'permanent\n'
	if (Array.isArray(errors)) for (const part of errors) text += clues(part, seen)
	const http =
		errorStatus(error.status) ||
		errorStatus(error.statusCode) ||
		errorStatus(response?.status) ||
		errorStatus(response?.statusCode) ||
		errorStatus($metadata?.httpStatusCode) ||
		errorStatus(code)
	// A DOMException has small numeric codes of its own, so a gRPC code needs gRPC's other marks beside it.
	if ((error.details ?? error.metadata) !== undefined && Number(code) < 17) return `${text}grpc ${code}\n`
	// Who has an answer from a server needs no cause to explain it, and what a message quotes (a URL, a body) could only
	// mislead. A 413 that says when to come back is a 429.
	if (http) return `${text}http ${http === 413 && error.retryAfterMs !== undefined ? 429 : http}\n`
	return text + line(error.message) + clues(error.cause, seen)
}
