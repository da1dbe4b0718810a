/**
 * A plain POST of a message's payload. One attempt by the HTTP engine, without its retries, breaker and bulkhead: those are the
 * relay's here, shared by all relays and alive when the process is not. Two layers of retries would multiply.
 */
import { YaokiError } from '../../core/errors/errors.ts'
import { invalidOption } from '../../core/options/schema.ts'
import { ResilientHttpClient } from '../../http/client/resilient-http-client.ts'
import { HttpStatusError } from '../../http/request/status-error.ts'
import type { Transport } from '../../http/transport/transport.ts'
import type { Message } from '../message/message.ts'
import type { Destination, DestinationOptions } from './destination.ts'

/** Where to, and what goes with every message. */
export interface HttpDestinationOptions<M extends Message = Message> extends DestinationOptions {
	/** Where to, or a function of the message that says so. */
	readonly url: string | URL | ((message: M) => string | URL)
	/** Headers of every request, or a function of the message. They beat those of the message. */
	readonly headers?:
		| Readonly<Record<string, string>>
		| ((message: M) => Readonly<Record<string, string>>)
		| undefined
	/** What sends the requests. Default: the `fetch` of the runtime. */
	readonly transport?: Transport | undefined
}

/** Long enough for any relay's own limit: that one counts, and it knows the message. */
const WITHOUT_END = Infinity

/**
 * Sends each message as a POST with its payload as JSON. An answer of 2xx means sent; Retry-After is heeded, a redirect is not followed.
 * The message's id is the `Idempotency-Key`, the same at every attempt, so that a receiver can tell a repeat. Topic and key are percent-encoded,
 * and so is the value of a header that has other characters than Latin-1.
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
	const { url, headers, transport, ...settings } = options
	if (typeof url !== 'function') checkUrl(url)
	if (headers !== undefined && typeof headers !== 'function' && Object(headers) !== headers)
		invalidOption('headers', headers, 'an object of texts, or a function of the message that answers one')
	const client = new ResilientHttpClient({
		maxRetries: 0,
		circuitBreaker: false,
		bulkhead: false,
		budget: false,
		pacing: false,
		// What the receiver asks for is for the relay to heed: a wait in here would take place in the message's own time.
		...{ maxRetryAfterMs: 0, longRetryAfter: 'clamp' },
		timeout: WITHOUT_END,
		...(transport === undefined ? {} : { transport }),
	})
	return {
		...settings,
		async deliver(message, { signal }) {
			const own = typeof headers === 'function' ? headers(message) : headers
			const sending = client.request(typeof url === 'function' ? url(message) : url, {
				method: 'POST',
				body: JSON.stringify(message.payload),
				headers: requestHeaders(message, own),
				// Following one may turn the POST into a GET: an answer of 200, and the message is nowhere.
				redirect: 'manual',
				signal,
			})
			const response = await sending.catch((error: unknown) => {
				throw error instanceof HttpStatusError && error.isInProgress ? new InProgressError(error) : error
			})
			// Nobody reads it, and what is left unread keeps its connection from the next message. The answer has come, whatever this does.
			await response.body?.cancel().catch(() => {})
		},
	}
}

/**
 * The receiver works on an earlier attempt of the same message, as it says by a 409 with Retry-After. Another 409 will not pass; this one
 * does, and says nothing about other messages. It has no `cause`, for by its status that would be taken for final.
 */
class InProgressError extends YaokiError {
	override readonly name = 'InProgressError'
	readonly retryAfterMs: number | undefined

	constructor({ statusCode, retryAfterMs }: HttpStatusError) {
		super(
			'YAOKI_OUTBOX_IN_PROGRESS',
			`the receiver still works on an earlier attempt (it answered ${statusCode})`,
		)
		this.retryAfterMs = retryAfterMs
	}
}

function requestHeaders(
	message: Message,
	own: Readonly<Record<string, string>> | undefined,
): Record<string, string> {
	const headers: Record<string, string> = {
		'content-type': 'application/json',
		'x-message-topic': encodeURIComponent(message.topic),
		...(message.key === undefined ? {} : { 'x-message-key': encodeURIComponent(message.key) }),
		...lowerCased(message.headers),
		...lowerCased(own ?? {}),
	}
	headers['idempotency-key'] = message.id
	return headers
}

/** Of two that differ in case only `fetch` would send both. */
const lowerCased = (headers: Readonly<Record<string, string>>): Record<string, string> =>
	Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), carried(value)]))

/** A header has room for Latin-1 only, and `fetch` would refuse the request, which no retry mends. */
const carried = (value: string): string => (BEYOND_LATIN_1.test(value) ? encodeURIComponent(value) : value)

const BEYOND_LATIN_1 = /[^\0-\xff]/

function checkUrl(url: unknown): void {
	const text = String(url)
	if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
		invalidOption('url', url, 'an http or https URL, or a function of the message that answers one')
}
