/**
 * Collects what identifies an error into one text, one signal per line: codes, names, messages and statuses,
 * of the error and of its causes. Libraries keep the same fact in different fields. Once it is collected, one
 * ordered list of patterns classifies all of them. (Rejected: a check per field. It was twice the size and repeated its
 * precedence at every nesting level.)
 */
import { CIRCUIT_OPEN } from '../errors/errors.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { systemRuntime } from '../runtime/system.ts'
import { askedWaitMs, readHeader } from './asked-wait.ts'
import { type ErrorLike, isErrorLike, responseOf } from './error-like.ts'
import { isMarkedPermanent } from './permanent.ts'

/** Bounds the work for errors that nest, even in cycles, and for aggregates of thousands. */
const MAX_ERRORS = 99
const MAX_TEXT_LENGTH = 9_999

/** A message may contain a whole document; what identifies the failure is at its beginning. */
const MAX_MESSAGE_LENGTH = 256

/** Returns the value if it is an HTTP error status, else 0. */
const toErrorStatus = (value: unknown): number => {
	const status = value === undefined ? 0 : Number(value)
	return status >= 400 && status < 600 ? status : 0
}

/** The name 'Error' is skipped: it says nothing. */
const line = (text: unknown): string =>
	typeof text === 'string' && text !== 'Error' ? `${text.slice(0, MAX_MESSAGE_LENGTH)}\n` : ''

/** Names and numbers that are codes in their field only: as a message, "unknown" says nothing. */
const codeLine = (code: unknown): string =>
	typeof code === 'string' || (typeof code === 'number' && code > 0) ? line(`code ${code}`) : ''

/**
 * Returns what identifies an Error that has only a message, and a timeout of this package that user code has
 * not changed: its fields are name, code, policy, pipeline and timeoutMs. Most errors are one of these, and
 * the thirty fields that they lack take three times as long as this check. Returns undefined for all others.
 */
function textOfPlain(thrown: unknown): string | undefined {
	if (!isErrorLike(thrown) || isMarkedPermanent(thrown)) return undefined
	const { name, message, code, cause } = thrown
	const fields = Object.keys(thrown).length
	if (code === 'YAOKI_TIMEOUT' && fields === 5) return code
	// Not every field is enumerable.
	const isBare = Object.getPrototypeOf(thrown) === Error.prototype && name === 'Error' && !fields
	return isBare &&
		code === undefined &&
		cause === undefined &&
		typeof message === 'string' &&
		message.length <= MAX_MESSAGE_LENGTH
		? message
		: undefined
}

/** Returns what identifies an error, and the longest wait that it, its causes or its parts ask for. */
export function readSignals(
	thrown: unknown,
	runtime: Runtime = systemRuntime,
): { readonly text: string; readonly retryAfterMs: number | undefined } {
	const plain = textOfPlain(thrown)
	if (plain !== undefined) return { text: plain, retryAfterMs: undefined }
	let text = ''
	let retryAfterMs: number | undefined
	/** The outermost error that decides whether it is retryable. */
	let verdict: boolean | undefined
	/** Created for the first error that has causes or parts. */
	let seen: unknown[] | undefined

	/** The outermost decision counts. "Retries exhausted", as in kafkajs, decides nothing. */
	const writeVerdict = (error: ErrorLike): void => {
		const { retryable, retriable, isRetryable, $retryable, name } = error
		if (typeof $retryable === 'object' && $retryable)
			text += $retryable.throttling ? 'throttling\n' : 'retryable\n'
		const asked = readHeader(error, 'stripe-should-retry')
		const own = [
			...[retryable, retriable, isRetryable, $retryable],
			asked === 'true' || (asked === 'false' ? false : undefined),
		].find((verdict) => typeof verdict === 'boolean')
		if (own === undefined || verdict !== undefined || /RetriesEx/.test(`${name}`)) return
		verdict = own
		text += own ? 'retryable\n' : 'permanent\n'
	}

	const add = (error: unknown): void => {
		if (text.length > MAX_TEXT_LENGTH) return
		if (!isErrorLike(error)) {
			text += line(error)
			return
		}
		const { code, errno, errors, errorLabels, errcode } = error
		const cause = causeOf(error)
		if (cause !== undefined || errors !== undefined) {
			seen ??= []
			if (seen.length > MAX_ERRORS || seen.includes(error)) return
			seen.push(error)
		}
		const http = readStatus(error) || toErrorStatus(code)
		// GitHub's limit of an hour: until its reset every request fails.
		const isLimited = http === 403 && readHeader(error, 'x-ratelimit-remaining') === '0'
		const untilResetMs = isLimited
			? Number(readHeader(error, 'x-ratelimit-reset')) * 1_000 - runtime.wallNow()
			: 0
		const waitMs = askedWaitMs(error, runtime) ?? (untilResetMs > 0 ? untilResetMs : undefined)
		if (waitMs !== undefined) retryAfterMs = Math.max(waitMs, retryAfterMs ?? 0)
		text += line(code) + line(error.name) + line(errno)
		text += line(error.reason) + line(error.sqlState) + line(error.errorCode)
		writeVerdict(error)
		if (Array.isArray(error.issues) || isMarkedPermanent(error)) text += 'permanent\n'
		if (Array.isArray(errorLabels)) for (const label of errorLabels.slice(0, 9)) text += line(label)
		// The lower byte is the result code without its extension.
		if (typeof errcode === 'number') text += `sqlite ${errcode & 255}\n`
		if (typeof error.command === 'string') text += `smtp ${Number(error.responseCode)}\n`
		// With a status, causes and messages are skipped: a message may quote a URL or a body, which would
		// mislead. Only the `reason` of a part counts, which is GCP's error code. A 413 and a 403 with
		// Retry-After are classified like a 429.
		for (const part of Array.isArray(errors) ? errors.slice(0, MAX_ERRORS) : [])
			if (!http) add(part)
			else if (isErrorLike(part)) text += line(part.reason)
		// A DOMException has small numeric codes too, so a gRPC code counts only beside gRPC's `details` or
		// `metadata`.
		const isGrpc = typeof code === 'number' && code > 0 && code < 17
		if (isGrpc && (error.details ?? error.metadata) !== undefined) text += `grpc ${code}\n`
		else if (http)
			text += `http ${isLimited || (waitMs !== undefined && (http === 413 || http === 403)) ? 429 : http}\n`
		else {
			text += codeLine(code) + codeLine(errno) + codeLine(error.codeName) + line(error.message)
			// What opened a circuit says nothing about a call that was rejected later.
			if (cause !== undefined && code !== CIRCUIT_OPEN) add(cause)
		}
	}

	add(thrown)
	return { text, retryAfterMs }
}

const wrapped = (value: unknown): unknown =>
	isErrorLike(value) && value.message !== undefined ? value : undefined

/** Returns the cause, or the error in a field that ORMs and SDKs use instead. */
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
