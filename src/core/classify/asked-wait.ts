/**
 * Reads the wait that a dependency asked for from the error that a client threw: most clients keep the
 * response's headers, not the wait. An error that has a `retryAfterMs`, even an undefined one, has decided
 * itself (as `HttpError` does), and its headers are not read.
 */
import { type HeaderLookup, readRetryAfterHeaders, readWaitMs } from '../headers/header-values.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { type ErrorLike, responseOf } from './error-like.ts'

const SECOND_MS = 1_000

/** Returns the wait in milliseconds, or undefined if there is none or reading it throws. */
export function askedWaitMs(error: ErrorLike, runtime: Runtime): number | undefined {
	try {
		const wait = 'retryAfterMs' in error ? error.retryAfterMs : readWait(error, runtime)
		return typeof wait === 'number' && wait >= 0 && wait < Infinity ? wait : undefined
	} catch {
		return undefined
	}
}

function readWait(error: ErrorLike, runtime: Runtime): number | undefined {
	const { retryAfter } = error
	const wait = readRetryAfterHeaders(headersOf(error), runtime.wallNow())
	if (wait !== undefined) return wait
	// Seconds, as in the header and in most clients. discord.js, whose errors also have `timeToReset`, counts
	// milliseconds.
	if (typeof retryAfter === 'number') return 'timeToReset' in error ? retryAfter : retryAfter * SECOND_MS
	return retryAfter === undefined ? undefined : readWaitMs([retryAfter], runtime.wallNow())
}

/** Returns a header of the response that an error carries, or nothing if reading it throws. */
export function readHeader(error: ErrorLike, name: string): string | null | undefined {
	try {
		return headersOf(error).get(name)
	} catch {
		return undefined
	}
}

/** Reads a header of a `Headers`, a Map or an object, in any case. Several lines are joined by commas. */
function headersOf(error: ErrorLike): HeaderLookup {
	const headers: object = Object(responseOf(error)?.headers ?? error.headers ?? error.responseHeaders)
	if ('get' in headers && typeof headers.get === 'function' && !(headers instanceof Map)) {
		const { get } = headers
		return { get: (name) => String(get.call(headers, name) ?? '') }
	}
	const found = new Map<string, string>()
	for (const [name, value] of headers instanceof Map ? headers : Object.entries(headers))
		found.set(String(name).toLowerCase(), String(value))
	return found
}
