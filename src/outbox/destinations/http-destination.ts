/**
 * Sends a message's payload by POST, with one attempt of the HTTP client. Retries, breaker and limits are the
 * relay's: they are shared by all relays and survive a restart, and two layers of retries would multiply.
 */
import { invalidOption } from '../../core/options/schema.ts'
import { ResilientHttpClient } from '../../http/client/resilient-http-client.ts'
import { urlForMessage } from '../../http/origin/origin-parser.ts'
import { HttpStatusError, isInProgressError } from '../../http/request/status-error.ts'
import type { Message } from '../message/message.ts'
import { responseOf } from '../message/stored-error.ts'
import { AttemptRecorder } from './attempt-recorder.ts'
import { type Destination, type DestinationOptions, OutboxInProgressError } from './destination.ts'
import { readExcerpt } from './read-excerpt.ts'

/** Options of `httpDestination`. `url` is required. */
export interface HttpDestinationOptions<M extends Message = Message> extends DestinationOptions {
	/** The URL, or a function of the message that returns it. */
	readonly url: string | URL | ((message: M) => string | URL)
	/**
	 * Headers of every request, or a function of the message that returns them. They override the message's
	 * headers.
	 */
	readonly headers?:
		| Readonly<Record<string, string>>
		| ((message: M) => Readonly<Record<string, string>>)
		| undefined
	/** The `fetch` that sends the requests. Default: the global one, looked up for each request. */
	readonly fetch?: typeof fetch | undefined
}

/**
 * Creates a destination of a `Relay` that sends each message as a POST with its payload as JSON. A 2xx status
 * means sent; Retry-After is honored, redirects are not followed. The message id is the `Idempotency-Key`,
 * the same for every attempt, so that the receiver can detect duplicates. Topic and key are percent-encoded,
 * as are header values with characters outside Latin-1.
 *
 * @example
 * const relay = new Relay(outbox, {
 * 	destinations: { 'order.created': httpDestination({ url: 'https://billing.internal/orders' }) },
 * })
 */
export function httpDestination<M extends Message = Message>(
	options: HttpDestinationOptions<M>,
): Destination<M> {
	if (Object(options) !== options) invalidOption('options', options, 'an object with a url')
	const { url, headers, fetch, ...settings } = options
	if (typeof url !== 'function') checkUrl(url)
	const expected = 'an object with string values, or a function of the message that returns one'
	if (headers !== undefined && typeof headers !== 'function' && Object(headers) !== headers)
		invalidOption('headers', headers, expected)
	const client = new ResilientHttpClient({
		maxRetries: 0,
		circuitBreaker: false,
		bulkhead: false,
		budget: false,
		honorRateLimit: false,
		// The relay honors Retry-After: waiting here would count towards the handler's timeout.
		maxRetryAfterMs: 0,
		longRetryAfter: 'clamp',
		// The relay's timeout applies.
		timeout: Infinity,
		fetch,
	})
	return {
		...settings,
		async deliver(message, { signal, attemptLog }) {
			const own = typeof headers === 'function' ? headers(message) : headers
			const request = client.request(typeof url === 'function' ? url(message) : url, {
				method: 'POST',
				body: JSON.stringify(message.payload),
				headers: requestHeaders(message, own),
				// A followed redirect may turn the POST into a GET, which returns 200 and loses the message.
				redirect: 'manual',
				signal,
			})
			const response = await request.catch((error: unknown) => {
				if (!(error instanceof HttpStatusError && isInProgressError(error))) throw error
				// The error that is thrown has no status and no body.
				const { maxResponseChars = 0 } = attemptLog ?? {}
				attemptLog?.record({
					statusCode: error.statusCode,
					response: responseOf(error, maxResponseChars).body,
				})
				throw new OutboxInProgressError(error)
			})
			attemptLog?.record({ statusCode: response.status })
			if (attemptLog !== undefined && attemptLog.maxResponseChars > 0) {
				// The message is sent: a timeout while the body is read must not fail it.
				if (attemptLog instanceof AttemptRecorder) attemptLog.isAccepted = true
				const excerpt = await readExcerpt(response.body, attemptLog.maxResponseChars, signal)
				attemptLog.record({ response: excerpt })
				return
			}
			// An unread body would keep the connection busy. The message is sent even if this fails.
			await response.body?.cancel().catch(() => {})
		},
	}
}

function requestHeaders(message: Message, own?: Readonly<Record<string, string>>): Record<string, string> {
	return {
		'content-type': 'application/json',
		'x-message-topic': encodeURIComponent(message.topic),
		...keyHeaders(message),
		...toLowerCase(message.headers),
		...toLowerCase(own ?? {}),
		'idempotency-key': message.id,
	}
}

/** Positions of messages without a key say nothing about their order. */
const keyHeaders = ({ key, sequence }: Message): Record<string, string> =>
	key === undefined
		? {}
		: { 'x-message-key': encodeURIComponent(key), 'x-message-sequence': String(sequence) }

/** Lower-cased, because `fetch` would send two headers that differ only in case. */
const toLowerCase = (headers: Readonly<Record<string, string>>): Record<string, string> =>
	Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), encodeValue(value)]))

/** Encodes values outside Latin-1, which `fetch` rejects. */
const encodeValue = (value: string): string =>
	BEYOND_LATIN_1.test(value) ? encodeURIComponent(value) : value

const BEYOND_LATIN_1 = /[^\0-\xff]/

function checkUrl(url: unknown): void {
	const text = String(url)
	if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
		invalidOption('url', url, 'an http or https URL, or a function of the message that returns one')
	const { username, password } = new URL(text)
	// Every delivery would fail. The value is shown without them.
	if (username || password)
		invalidOption('url', urlForMessage(text), 'a URL without credentials; send them in a header')
}
