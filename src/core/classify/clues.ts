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
const isErrorStatus = (value: unknown): boolean => Number(value) >= 400 && Number(value) < 600

export function clues(error: unknown, seen: unknown[] = []): string {
	if (!isErrorLike(error)) return typeof error === 'string' ? error.slice(0, LONGEST_MESSAGE) : ''
	if (seen.length > MOST_ERRORS || seen.includes(error)) return ''
	seen.push(error)
	const { message, code, name, errno, reason, response, $metadata, $retryable, errors } = error
	const inner = (part: unknown): string => clues(part, seen)
	const lines = [inner(code), name, errno, reason]
	if ($retryable) lines.push($retryable.throttling ? 'throttling' : 'retryable')
	if (Array.isArray(error.issues) || isMarkedPermanent(error)) lines.push('permanent')
	if (Array.isArray(errors)) lines.push(...errors.map(inner))
	const statuses = [
		error.status,
		error.statusCode,
		response?.status,
		response?.statusCode,
		$metadata?.httpStatusCode,
		code,
	]
	const http = statuses.find(isErrorStatus)
	// A DOMException has small numeric codes of its own, so a gRPC code needs gRPC's other marks beside it.
	const isGrpc = Number(code) < 17 && (error.details || error.metadata)
	// Who has an answer from a server needs no cause to explain it, and what a message quotes (a URL, a body) could only
	// mislead. A 413 that says when to come back is a 429.
	if (isGrpc) lines.push(`grpc ${code}`)
	else if (http) lines.push(`http ${http === 413 && error.retryAfterMs !== undefined ? 429 : http}`)
	else lines.push(inner(message), inner(error.cause))
	return lines.filter((line) => typeof line === 'string').join('\n')
}
