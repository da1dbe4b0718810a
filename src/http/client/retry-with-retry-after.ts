import type { CallContext } from '../../core/engine/call-options.ts'
import { findExhausted } from '../../core/explain/exhausted-retries.ts'
import { checkNames, invalidArgument, MAX_NUMBER, readOptions } from '../../core/options/schema.ts'
import type { RetryWithBackoffOptions } from '../../core/retry/options.ts'
import { retryWithBackoff } from '../../core/retry/retry-with-backoff.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import { systemRuntime } from '../../core/runtime/system.ts'
import { readRetryAfter } from '../headers/retry-headers.ts'
import { readText } from '../request/drain-body.ts'
import { HttpStatusError } from '../request/status-error.ts'

/** Options of `retryWithRetryAfter`. */
export interface RetryWithRetryAfterOptions
	extends Pick<
		RetryWithBackoffOptions,
		'signal' | 'deadline' | 'baseDelayMs' | 'maxDelayMs' | 'jitterStrategy' | 'onRetry'
	> {
	/**
	 * The longest Retry-After to wait for, in milliseconds; a longer one fails immediately with an HttpError.
	 * Default 60,000.
	 */
	readonly maxRetryAfterMs?: number | undefined
	/** Clock and random source. Default: the system's. */
	readonly runtime?: Runtime | undefined
}

type RetryAfterSettings = RetryWithRetryAfterOptions & { readonly maxRetryAfterMs: number }

const SCHEMA = {
	signal: 'any',
	deadline: 'any',
	baseDelayMs: 'any',
	maxDelayMs: 'any',
	jitterStrategy: 'any',
	onRetry: 'function',
	maxRetryAfterMs: [0, MAX_NUMBER, 60_000],
	runtime: 'any',
} as const

/** Checks the shape, because a Response may be of another class than the runtime's. */
const isResponse = (given: unknown): boolean => {
	const { status, headers } = Object(given)
	return typeof status === 'number' && typeof headers?.get === 'function'
}

/**
 * Calls a function that returns a Response, and retries on 429 and 503 after the server's Retry-After plus
 * jitter. Throws an HttpError when the retries are exhausted or Retry-After is too long. Any other response
 * is returned.
 *
 * @example
 * const response = await retryWithRetryAfter(({ signal }) => fetch(url, { signal }), 3)
 */
export async function retryWithRetryAfter<R extends Response>(
	fn: (context: CallContext) => R | Promise<R>,
	maxRetries = 3,
	options: RetryWithRetryAfterOptions = {},
): Promise<R> {
	checkNames(options, SCHEMA, 'retryWithRetryAfter')
	if (typeof fn !== 'function') invalidArgument('fn', fn, 'a function that returns a Response')
	const {
		maxRetryAfterMs,
		runtime = systemRuntime,
		...backoff
	} = readOptions<RetryAfterSettings>(options, SCHEMA)
	// The latest error created here. Errors of the function itself are rethrown, even an HttpError.
	let failed: HttpStatusError | undefined
	const attempt = async (context: CallContext): Promise<R> => {
		const response = await fn(context)
		// Usually the `return` was forgotten. The value is not part of the message, because it may be a whole
		// body.
		if (!isResponse(response)) invalidArgument('fn(context)', typeof response, 'a Response')
		const { status, headers } = response
		if (status !== 429 && status !== 503) return response
		const retryAfterMs = readRetryAfter(headers, runtime.wallNow())
		failed = new HttpStatusError(response, { retryAfterMs })
		failed.body = await readText(response, runtime)
		throw failed
	}
	return retryWithBackoff<Promise<R>>(attempt, {
		...backoff,
		name: 'retryWithRetryAfter',
		runtime,
		maxRetries,
		shouldRetry: (error) =>
			failed !== undefined &&
			error === failed &&
			(failed.retryAfterMs ?? 0) <= maxRetryAfterMs &&
			// The function may be a resilient fetch with its own retries.
			!findExhausted(failed.response),
		maxRetryAfterMs,
	})
}
