/**
 * Collects what identifies an error into one text, one signal per line: codes, names, messages and statuses, and those of
 * its causes. Libraries keep the same fact in different fields; once collected, one ordered list of patterns classifies
 * all of them. (Rejected: a check per field. It was twice the size and repeated its precedence at every nesting level.)
 */
import { CIRCUIT_OPEN } from '../errors/errors.ts'
import { isAmount } from '../options/schema.ts'
import { isMarkedPermanent } from './permanent.ts'

/** Bounds the work for errors that nest, even in cycles, and for aggregates of thousands. */
const MAX_ERRORS = 99

/** A message may contain a whole document; what identifies the failure is at its beginning. */
const MAX_MESSAGE_LENGTH = 256

/** The fields that errors of any library may have. Each is checked where it is used. */
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

/** Returns the value if it is an HTTP error status, else 0. */
function toErrorStatus(value: unknown): number {
	const status = value === undefined ? 0 : Number(value)
	return status >= 400 && status < 600 ? status : 0
}

/** The name 'Error' is skipped: it says nothing. */
const line = (text: unknown): string =>
	typeof text === 'string' && text !== 'Error' ? `${text.slice(0, MAX_MESSAGE_LENGTH)}\n` : ''

/** The signals of one error, its causes and its parts. */
export class ErrorSignals {
	text = ''
	/** The longest wait that any of the errors asks for. */
	retryAfterMs: number | undefined
	/** Created for the first error that has causes or parts. */
	#seen: unknown[] | undefined

	add(error: unknown): this {
		if (!isErrorLike(error)) {
			this.text += line(error)
			return this
		}
		const { code, retryAfterMs, $retryable, errors, cause } = error
		if (cause !== undefined || errors !== undefined) {
			this.#seen ??= []
			if (this.#seen.length > MAX_ERRORS || this.#seen.includes(error)) return this
			this.#seen.push(error)
		}
		if (isAmount(retryAfterMs)) this.retryAfterMs = Math.max(retryAfterMs, this.retryAfterMs ?? 0)
		this.text += line(code) + line(error.name) + line(error.errno) + line(error.reason) + line(error.sqlState)
		if ($retryable) this.text += $retryable.throttling ? 'throttling\n' : 'retryable\n'
		if (Array.isArray(error.issues) || isMarkedPermanent(error)) this.text += 'permanent\n'
		const http = readStatus(error)
		const parts: readonly unknown[] = Array.isArray(errors) ? errors.slice(0, MAX_ERRORS) : []
		// With a status, causes and messages are skipped: a message may quote a URL or a body, which would mislead. Only the
		// `reason` of a part counts, which is GCP's error code. A 413 with Retry-After is classified like a 429.
		if (http) for (const part of parts) this.text += line(isErrorLike(part) ? part.reason : undefined)
		else for (const part of parts) this.add(part)
		// A DOMException has small numeric codes too, so a gRPC code counts only beside gRPC's `details` or `metadata`.
		const isGrpc = typeof code === 'number' && code > 0 && code < 17
		if (isGrpc && (error.details ?? error.metadata) !== undefined) this.text += `grpc ${code}\n`
		else if (http) this.text += `http ${http === 413 && retryAfterMs !== undefined ? 429 : http}\n`
		else {
			this.text += line(error.message)
			// What opened a circuit says nothing about a call that was rejected later.
			if (cause !== undefined && code !== CIRCUIT_OPEN) this.add(cause)
		}
		return this
	}
}

const readStatus = ({ status, statusCode, response, $metadata, code }: ErrorLike): number =>
	toErrorStatus(status) ||
	toErrorStatus(statusCode) ||
	toErrorStatus(response?.status) ||
	toErrorStatus(response?.statusCode) ||
	toErrorStatus($metadata?.httpStatusCode) ||
	toErrorStatus(code)
