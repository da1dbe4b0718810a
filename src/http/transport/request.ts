/** A request as it is prepared and sent: its method, its body and the way it is sent. */
import { isObject } from '../../core/options/schema.ts'
import type { HeaderSource } from '../headers/request-headers.ts'
import type { HttpResponse, ReportProgress } from './response.ts'

/** Methods that change nothing on the server, so that two concurrent requests are harmless. */
const SAFE = /^(GET|HEAD|OPTIONS|TRACE|QUERY)$/

export const isSafeMethod = (method: string): boolean => method === 'GET' || SAFE.test(method)

/** Returns true for a method of which a second request changes nothing more. */
export const isIdempotentMethod = (method: string): boolean =>
	isSafeMethod(method) || method === 'PUT' || method === 'DELETE'

/** The init of one attempt. The body is new for each attempt. */
export interface TransportInit extends RequestInit {
	readonly method: string
	readonly signal: AbortSignal
	/** Set if the body is a stream, as `fetch` requires. */
	readonly duplex?: 'half'
}

/** A request as `resilientFetch`, the client or an adapter prepares it. */
export interface PreparedRequest {
	readonly url: string
	readonly method: string
	readonly headers: HeaderSource
	readonly body: RequestBody
	/** The user that the request belongs to, for the cache. */
	readonly principal?: string | undefined
	/** The headers that the client sets, with the values that are sent, for the cache. */
	readonly clientHeaders?: string | undefined
	/** The rest of the caller's init. */
	readonly init: RequestInit | undefined
	/** The part of `totalTimeoutMs` that has passed before. */
	readonly spentMs?: number
	/** A body beside `body`, such as the body of a `Request`. */
	readonly ownBody?: unknown
	/** True if the request contains a body, beside `body`, that can be sent only once. */
	readonly isSingleUse: boolean
	readonly send: (url: string, init: TransportInit) => Promise<HttpResponse>
	/** Follows redirects from this response. If set, requests are sent with `redirect: 'manual'`. */
	readonly follow?:
		| ((response: HttpResponse, url: string, init: TransportInit) => Promise<HttpResponse>)
		| undefined
	/** Emits the progress of downloads. Passed in, so that `resilientFetch` does not bundle it. */
	readonly reportProgress?: ReportProgress | undefined
	/** Part of the attempt after the head has arrived, such as storing a copy in the cache. */
	readonly finish?: ((response: HttpResponse) => HttpResponse | Promise<HttpResponse>) | undefined
}

/**
 * A request body may have to be sent more than once. Data is sent again as it is. A stream can be sent once,
 * unless the caller passes a function that creates a new one. Nothing is copied, cloned or teed for a retry
 * that rarely happens.
 */
export type BodySource = RequestInit['body'] | AsyncIterable<Uint8Array> | undefined
/** A body, or a function that creates one for each attempt. */
export type RequestBody = BodySource | (() => BodySource | Promise<BodySource>)

/** Returns true if the body can be sent again. */
export function isReplayable(body: RequestBody): boolean {
	return typeof body === 'function' || !isStream(body)
}

/** Returns true for bodies that can be read once, which need `duplex`: streams, async iterables, generators. */
export function isStream(body: RequestBody): boolean {
	if (!isObject(body)) return false
	if ('getReader' in body || Symbol.asyncIterator in body) return true
	// Views, forms and URLSearchParams are iterable any number of times; a generator only once.
	return Symbol.iterator in body && 'next' in body
}

/** Returns true if the stream was read or closed before. Node's streams and web streams differ here. */
export function isBodyUsed(body: RequestBody): boolean {
	if (!isObject(body)) return false
	if ('locked' in body) return body.locked === true
	return 'readableDidRead' in body && (body.readableDidRead === true || Object(body).destroyed === true)
}

/** Ends a stream that is not sent, as `fetch` does, so that what it reads from is released. Never throws. */
export function discardBody(body: unknown, reason: unknown): void {
	const stream: Partial<Record<'destroy' | 'cancel' | 'return', (reason?: unknown) => unknown>> = Object(body)
	try {
		// A Node stream is destroyed without the reason: nothing listens to its error.
		const ending = stream.destroy ? stream.destroy() : (stream.cancel?.(reason) ?? stream.return?.())
		Promise.resolve(ending).catch(() => {})
	} catch {
		// A stream that is locked or broken.
	}
}

export const BODY_ALREADY_READ =
	'The request body has already been read. Pass a new one, or body: () => a new stream'
