/**
 * Sends a message's payload over HTTP, with one attempt of the HTTP client. Retries, breaker and limits are the
 * relay's: they are shared by all relays and survive a restart, and two layers of retries would multiply.
 */
import { permanent } from '../../core/classify/permanent.ts'
import { InvalidOptionError } from '../../core/errors/errors.ts'
import { checkNames, invalidOption, type OptionSchema, readOptions } from '../../core/options/schema.ts'
import { ResilientHttpClient } from '../../http/client/resilient-http-client.ts'
import { urlForMessage } from '../../http/origin/origin-parser.ts'
import { untilAbort } from '../../http/request/attempt-hooks.ts'
import { HttpStatusError, isInProgressError } from '../../http/request/status-error.ts'
import type { Message } from '../message/message.ts'
import { responseOf } from '../message/stored-error.ts'
import { AttemptRecorder } from './attempt-recorder.ts'
import { type DestinationOf, type DestinationOptions, OutboxInProgressError } from './destination.ts'
import { COMMON_SCHEMA } from './destination-schema.ts'
import { type HeaderRecord, isHeaderRecord, requestHeaders } from './message-headers.ts'
import { readExcerpt } from './read-excerpt.ts'

/** Options of `httpDestination`. `url` is required. */
export interface HttpDestinationOptions<M extends Message = Message> extends DestinationOptions {
	/** The URL, or a function of the message that returns it or a promise of it. */
	readonly url: string | URL | ((message: M) => string | URL | Promise<string | URL>)
	/**
	 * Headers of every request, or a function that returns them or a promise of them. It gets the message and
	 * the body as it is sent, byte for byte, for example to sign it. They override the message's headers.
	 */
	readonly headers?:
		| HeaderRecord
		| ((message: M, body: Uint8Array<ArrayBuffer>) => HeaderRecord | Promise<HeaderRecord>)
		| undefined
	/** The method of the requests. Default `'POST'`. */
	readonly method?: Method | undefined
	/**
	 * An `Agent` or another dispatcher of undici that sends the requests, for example with a client certificate.
	 * Needs `fetch`, the one of the same version of undici. Default: the dispatcher of `fetch`.
	 */
	readonly dispatcher?: Dispatcher | undefined
	/** The `fetch` that sends the requests. Default: the global one, looked up for each request. */
	readonly fetch?: SendRequest | undefined
}

type Method = 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** A dispatcher of any version of undici. */
type Dispatcher = { dispatch(options: never, handler: never): boolean }

/**
 * The part of `fetch` that is used: the types of the global one and of undici's do not fit each other. The
 * parameters of a method are bivariant, so both fit this one.
 */
type SendRequest = {
	send(
		url: string,
		init: {
			method: string
			headers: Record<string, string>
			body: Uint8Array<ArrayBuffer>
			redirect: 'manual'
			signal: AbortSignal
		},
	): Promise<{ readonly status: number; readonly headers: { get(name: string): string | null } }>
}['send']

const SCHEMA: OptionSchema = {
	url: 'any',
	headers: 'any',
	method: ['POST', 'PUT', 'PATCH', 'DELETE'],
	dispatcher: 'any',
	fetch: 'function',
	...COMMON_SCHEMA,
}

const HEADERS = 'an object with string values'

/**
 * Creates a destination of a `Relay` that sends each message as a request with its payload as JSON. A 2xx
 * status means sent; Retry-After is honored, redirects are not followed. The message id is the
 * `Idempotency-Key`, the same for every attempt, so that the receiver can detect duplicates. Topic and key are
 * percent-encoded, as are header values with characters outside Latin-1.
 *
 * @example
 * const relay = new Relay(outbox, {
 * 	destinations: { 'order.created': httpDestination({ url: 'https://billing.internal/orders' }) },
 * })
 */
export function httpDestination<M extends Message = Message>(
	options: HttpDestinationOptions<M>,
): DestinationOf<M> {
	const { url, headers, dispatcher, fetch, method, ...settings } = readHttpDestination(options)
	const client = createClient(fetch)
	const extra = dispatcher && { dispatcher }
	return {
		...settings,
		async deliver(message, { signal, attemptLog }) {
			const target = typeof url === 'function' ? await untilAbort(signal, () => url(message)) : url
			if (typeof url === 'function') checkTarget(target)
			const body = new TextEncoder().encode(JSON.stringify(message.payload))
			const own =
				typeof headers === 'function' ? await untilAbort(signal, () => headers(message, body)) : headers
			if (typeof headers === 'function' && !isHeaderRecord(own))
				invalidOption('headers(message, body)', own, HEADERS)
			const request = client.request(target, {
				method,
				body,
				headers: requestHeaders(message, own),
				// A followed redirect may turn the POST into a GET, which returns 200 and loses the message.
				redirect: 'manual',
				signal,
				...extra,
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

/** Returns the options with the method that is used. */
function readHttpDestination<M extends Message>(
	options: HttpDestinationOptions<M>,
): HttpDestinationOptions<M> & { readonly method: string } {
	if (Object(options) !== options) invalidOption('options', options, 'an object with a url')
	checkNames(options, SCHEMA, 'httpDestination')
	const { method } = readOptions<{ readonly method: Method }>(options, SCHEMA)
	const { url, headers, dispatcher, fetch } = options
	if (typeof url !== 'function') checkUrl('url', url)
	if (headers !== undefined && typeof headers !== 'function' && !isHeaderRecord(headers))
		invalidOption('headers', headers, `${HEADERS}, or a function of message and body that returns one`)
	if (dispatcher !== undefined && typeof dispatcher?.dispatch !== 'function')
		invalidOption('dispatcher', dispatcher, 'a dispatcher of undici, such as new Agent()')
	// The global `fetch` may be of another version, whose dispatchers have other handlers.
	if (dispatcher && !fetch)
		invalidOption('fetch', fetch, 'the fetch of the undici package that the dispatcher is of')
	return { ...options, method }
}

function createClient(fetch: SendRequest | undefined): ResilientHttpClient {
	return new ResilientHttpClient({
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
		// The client calls it with no more than what the type says.
		fetch: fetch as typeof globalThis.fetch | undefined,
	})
}

function checkUrl(option: string, url: unknown): asserts url is string | URL {
	const text = String(url)
	if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
		invalidOption(option, url, 'an http or https URL, or a function of the message that returns one')
	const { username, password } = new URL(text)
	// Every delivery would fail. The value is shown without them.
	if (username || password)
		invalidOption(option, urlForMessage(text), 'a URL without credentials; send them in a header')
}

/** Another attempt would get the same URL, so the error is permanent. */
function checkTarget(url: unknown): asserts url is string | URL {
	try {
		checkUrl('url(message)', url)
	} catch (error) {
		throw error instanceof InvalidOptionError ? permanent(error) : error
	}
}
