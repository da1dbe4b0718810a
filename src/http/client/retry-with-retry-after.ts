import type { CallContext } from '../../core/engine/call-options.ts'
import { HttpError, InvalidOptionError } from '../../core/errors/errors.ts'
import { checkNames, checkRange } from '../../core/options/schema.ts'
import type { RetryWithBackoffOptions } from '../../core/retry/options.ts'
import { retryWithBackoff } from '../../core/retry/retry-with-backoff.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import { systemRuntime } from '../../core/runtime/system.ts'
import { readRetryAfter } from '../headers/asked-wait.ts'
import { placed, refuse, reword } from '../options/option-path.ts'
import { addJitter } from '../origin/origin-pause.ts'
import { readText } from '../request/drain-body.ts'
import { type HttpResponse, MAX_DRAIN_MS } from '../transport/transport.ts'

/** What belongs to one call of `retryWithRetryAfter`. */
export interface RetryAfterOptions
	extends Pick<
		RetryWithBackoffOptions,
		'signal' | 'deadline' | 'baseDelayMs' | 'maxDelayMs' | 'jitterStrategy' | 'onRetry'
	> {
	/** The longest Retry-After that is waited for; a longer one is thrown as an HttpError at once. Default 60,000. */
	readonly maxRetryAfterMs?: number | undefined
	/** Time and chance. Default: the system's. */
	readonly runtime?: Runtime | undefined
}

const NAMES = {
	signal: 'any',
	deadline: 'any',
	baseDelayMs: 'any',
	maxDelayMs: 'any',
	jitterStrategy: 'any',
	onRetry: 'function',
	maxRetryAfterMs: 'any',
	runtime: 'any',
} as const

const FN_TAKES = 'a function that returns a Response'

/** By what it has: a Response may be of another class than that of the runtime. */
const isResponse = (given: unknown): boolean => {
	const { status, headers } = Object(given)
	return typeof status === 'number' && typeof headers?.get === 'function'
}

/** Mostly somebody forgot the `return`. */
function notOfResponses(fn: unknown, result: unknown): InvalidOptionError {
	const error = new InvalidOptionError('fn', fn, FN_TAKES)
	const what = result === null ? 'null' : typeof result
	reword(error, `Invalid option "fn": expected ${FN_TAKES}, got a function whose result is of type ${what}`)
	return error
}

/**
 * Calls any function that gives a Response, and again when that is a 429 or a 503: after as long as the server says, and a little
 * more by chance. Throws an HttpError when the retries are used up or the server asks for too much; every other response is returned.
 *
 * @example
 * const response = await retryWithRetryAfter(({ signal }) => fetch(url, { signal }), 3)
 */
export async function retryWithRetryAfter<R extends HttpResponse>(
	fn: (context: CallContext) => R | Promise<R>,
	maxRetries = 3,
	options: RetryAfterOptions = {},
): Promise<R> {
	placed('', () => checkNames(options, NAMES))
	if (typeof fn !== 'function') refuse('fn', fn, FN_TAKES)
	const { maxRetryAfterMs = 60_000, runtime = systemRuntime, ...backoff } = options
	checkRange('maxRetryAfterMs', maxRetryAfterMs)
	// The latest that was made here. What the function throws itself is thrown as it is, even if it is an HttpError, too.
	let refused: HttpError | undefined
	const attempt = async (context: CallContext): Promise<R> => {
		const response = await fn(context)
		if (!isResponse(response)) throw notOfResponses(fn, response)
		const { status, headers } = response
		if (status !== 429 && status !== 503) return response
		const retryAfterMs = readRetryAfter(headers, runtime.wallNow())
		refused = new HttpError(status, await readText(response, runtime, MAX_DRAIN_MS), { retryAfterMs })
		throw refused
	}
	return retryWithBackoff<Promise<R>>(attempt, {
		...backoff,
		name: 'retryWithRetryAfter',
		runtime,
		maxRetries,
		shouldRetry: (error) =>
			refused !== undefined && error === refused && (refused.retryAfterMs ?? 0) <= maxRetryAfterMs,
		delayFor: () =>
			refused?.retryAfterMs === undefined ? undefined : addJitter(refused.retryAfterMs, runtime),
	})
}
