/**
 * Collects what identifies an error into one text, one signal per line: codes, names, messages and statuses, and those of
 * its causes. Libraries keep the same fact in different fields; once collected, one ordered list of patterns classifies
 * all of them. (Rejected: a check per field. It was twice the size and repeated its precedence at every nesting level.)
 */
import { CIRCUIT_OPEN } from '../errors/errors.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { systemRuntime } from '../runtime/system.ts'
import { askedWaitMs } from './asked-wait.ts'
import { type ErrorLike, isErrorLike, responseOf } from './error-like.ts'
import { isMarkedPermanent } from './permanent.ts'

/** Bounds the work for errors that nest, even in cycles, and for aggregates of thousands. */
const MAX_ERRORS = 99
const MAX_TEXT_LENGTH = 9_999

/** A message may contain a whole document; what identifies the failure is at its beginning. */
const MAX_MESSAGE_LENGTH = 256

/** Returns the value if it is an HTTP error status, else 0. */
function toErrorStatus(value: unknown): number {
	const status = value === undefined ? 0 : Number(value)
	return status >= 400 && status < 600 ? status : 0
}

/** The name 'Error' is skipped: it says nothing. */
const line = (text: unknown): string =>
	typeof text === 'string' && text !== 'Error' ? `${text.slice(0, MAX_MESSAGE_LENGTH)}\n` : ''

/** Names and numbers that are codes in their field only: as a message, "unknown" says nothing. */
const codeLine = (code: unknown): string =>
	typeof code === 'string' || (typeof code === 'number' && code > 0) ? line(`code ${code}`) : ''

/** The signals of one error, its causes and its parts. */
export class ErrorSignals {
	text = ''
	/** The longest wait that any of the errors asks for. */
	retryAfterMs: number | undefined
	readonly #runtime: Runtime
	/** The outermost error that decides whether it is retryable. */
	#verdict: boolean | undefined
	/** Created for the first error that has causes or parts. */
	#seen: unknown[] | undefined

	constructor(runtime: Runtime = systemRuntime) {
		this.#runtime = runtime
	}

	add(error: unknown): this {
		if (this.text.length > MAX_TEXT_LENGTH) return this
		if (!isErrorLike(error)) {
			this.text += line(error)
			return this
		}
		const { code, errors, errorLabels, errcode } = error
		const cause = causeOf(error)
		if (cause !== undefined || errors !== undefined) {
			this.#seen ??= []
			if (this.#seen.length > MAX_ERRORS || this.#seen.includes(error)) return this
			this.#seen.push(error)
		}
		const waitMs = askedWaitMs(error, this.#runtime)
		if (waitMs !== undefined) this.retryAfterMs = Math.max(waitMs, this.retryAfterMs ?? 0)
		this.text += line(code) + line(error.name) + line(error.errno) + line(error.reason)
		this.text += line(error.sqlState) + line(error.errorCode)
		this.#addVerdict(error)
		if (Array.isArray(error.issues) || isMarkedPermanent(error)) this.text += 'permanent\n'
		if (Array.isArray(errorLabels)) for (const label of errorLabels.slice(0, 9)) this.text += line(label)
		// The lower byte is the result code without its extension.
		if (typeof errcode === 'number') this.text += `sqlite ${errcode & 255}\n`
		if (typeof error.command === 'string') this.text += `smtp ${Number(error.responseCode)}\n`
		const http = readStatus(error) || toErrorStatus(code)
		const parts: readonly unknown[] = Array.isArray(errors) ? errors.slice(0, MAX_ERRORS) : []
		// With a status, causes and messages are skipped: a message may quote a URL or a body, which would mislead. Only the
		// `reason` of a part counts, which is GCP's error code. A 413 with Retry-After is classified like a 429.
		if (http) for (const part of parts) this.text += line(isErrorLike(part) ? part.reason : undefined)
		else for (const part of parts) this.add(part)
		// A DOMException has small numeric codes too, so a gRPC code counts only beside gRPC's `details` or `metadata`.
		const isGrpc = typeof code === 'number' && code > 0 && code < 17
		if (isGrpc && (error.details ?? error.metadata) !== undefined) this.text += `grpc ${code}\n`
		else if (http) this.text += `http ${http === 413 && waitMs !== undefined ? 429 : http}\n`
		else {
			this.text += codeLine(code) + codeLine(error.errno) + codeLine(error.codeName) + line(error.message)
			// What opened a circuit says nothing about a call that was rejected later.
			if (cause !== undefined && code !== CIRCUIT_OPEN) this.add(cause)
		}
		return this
	}

	/** The outermost decision counts. An error that says only that retries were exhausted, as in kafkajs, decides nothing. */
	#addVerdict({ retryable, retriable, isRetryable, $retryable, name }: ErrorLike): void {
		const verdict =
			toBoolean(retryable) ?? toBoolean(retriable) ?? toBoolean(isRetryable) ?? toBoolean($retryable)
		if (typeof $retryable === 'object' && $retryable)
			this.text += $retryable.throttling ? 'throttling\n' : 'retryable\n'
		if (verdict === undefined || this.#verdict !== undefined || /RetriesEx/.test(`${name}`)) return
		this.#verdict = verdict
		this.text += verdict ? 'retryable\n' : 'permanent\n'
	}
}

const toBoolean = (value: unknown): boolean | undefined => (typeof value === 'boolean' ? value : undefined)

const wrapped = (value: unknown): unknown =>
	isErrorLike(value) && value.message !== undefined ? value : undefined

/** Returns the cause, or the error in a field that ORMs and SDKs use instead. Such a field may also hold something else. */
const causeOf = ({ cause, original, driverError, detail }: ErrorLike): unknown =>
	cause ?? wrapped(original) ?? wrapped(driverError) ?? wrapped(detail)

function readStatus(error: ErrorLike): number {
	const response = responseOf(error)
	return (
		toErrorStatus(error.status) ||
		toErrorStatus(error.statusCode) ||
		toErrorStatus(response?.status) ||
		toErrorStatus(response?.statusCode) ||
		toErrorStatus(error.$metadata?.httpStatusCode) ||
		toErrorStatus(error.data?.httpStatus)
	)
}
