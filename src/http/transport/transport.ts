/**
 * How a request is sent. A transport is a function like `fetch`, so `fetch` itself is one, and its result is the commonly used part of a
 * `Response`. `HttpResponse` is an interface and not the class, because creating a real `Response` costs more than the rest of a
 * request over undici's `request`.
 */

/** The part of a `Response` that every transport returns. A real `Response` is one. */
export interface HttpResponse {
	readonly status: number
	readonly statusText: string
	/** True for a status from 200 to 299. */
	readonly ok: boolean
	/** The URL after redirects. */
	readonly url: string
	readonly redirected: boolean
	readonly headers: Headers
	readonly body: ReadableStream<Uint8Array<ArrayBuffer>> | null
	readonly bodyUsed: boolean
	text(): Promise<string>
	// The same type as `fetch` declares.
	json(): ReturnType<Response['json']>
	arrayBuffer(): Promise<ArrayBuffer>
	blob(): Promise<Blob>
}

/** Notified of what happens to a response body, so that the body's timeout ends with it. */
export interface BodyObserver {
	/** The caller has called `text()` or a similar method. */
	onReadStart(): void
	/** The body was read to its end, or reading failed with this error. Returns the error to throw instead. */
	onEnd(error?: unknown): unknown
	/** The caller has taken over the stream; the timeout no longer applies. The caller's abort still does, for as long as it is used. */
	onHandOver(stream?: object): void
}

/** A response that notifies about its body. A real `Response` cannot; see request/track-body.ts. */
export interface ObservableResponse extends HttpResponse {
	/** Called at most once, before the body is read. */
	observe(observer: BodyObserver): void
	/** Passes the decoded body through a function. Called at most once, before the body is read. */
	pipeBody?(through: (chunks: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>): void
	/** True if the caller reads or has read the stream itself. Accessing `body` is not reading it. */
	readonly isStreamTaken?: boolean
	/** Drains or cancels the rest of the body and frees the connection. Never rejects. */
	drain(): Promise<void>
}

/** Checks the shape, because users can write their own transports. */
export const isObservable = (response: HttpResponse): response is ObservableResponse => 'observe' in response

/** Unread bodies are drained up to this size and time to reuse the connection, then cancelled. */
export const MAX_DRAINED_BYTES = 65_536
export const MAX_DRAIN_MS = 1_000

/** Returns a response header by its lower-case name. Own response classes return it without creating a `Headers` object. */
export function headerOf(response: HttpResponse, name: string): string | null {
	return hasHeader(response) ? response.header(name) : response.headers.get(name)
}

const hasHeader = (
	response: HttpResponse,
): response is HttpResponse & { header(name: string): string | null } => 'header' in response

/** Returns a header of a table with lower-case names, its lines joined by commas, or null. */
export function headerFrom(
	table: Readonly<Record<string, string | string[] | undefined>>,
	name: string,
): string | null {
	const value = Object.hasOwn(table, name) ? table[name] : undefined
	return Array.isArray(value) ? value.join(', ') : (value ?? null)
}

/** The request that a transport sends. The body is new for each attempt. */
export interface TransportInit extends RequestInit {
	readonly method: string
	readonly signal: AbortSignal
	/** Set if the body is a stream, as `fetch` requires. */
	readonly duplex?: 'half'
}

/**
 * Sends a request and resolves when the head of the response has arrived. Rejects as `fetch` does: with the signal's reason after an
 * abort, otherwise with the network error.
 *
 * @example
 * const client = new ResilientHttpClient({ transport: undiciTransport(undici) })
 */
export type Transport<R extends HttpResponse = HttpResponse> = (
	url: string,
	init: TransportInit,
) => Promise<R>

/** The part of a signal that undici needs. It has no `aborted`, or undici would pass it to Node as a real signal. */
export interface AbortSource {
	readonly isAborted: boolean
	/** What it was aborted with. */
	readonly cause: unknown
	addEventListener(type: 'abort', listener: (() => void) | { handleEvent(): void }): void
	removeEventListener(type: 'abort', listener: (() => void) | { handleEvent(): void }): void
}

/** A transport that does not need a real signal: creating one costs a tenth of a request, and it is rarely aborted. */
export type SendWithAbortSource = (
	url: string,
	init: Omit<TransportInit, 'signal'>,
	abortSource: AbortSource,
) => Promise<HttpResponse>

const SEND_WITH_ABORT_SOURCE = Symbol('yaoki.sendWithAbortSource')

/** Attaches the second form to a transport, under a symbol so that it is not part of the public type. */
export const attachAbortSource = <T extends Transport>(transport: T, send: SendWithAbortSource): T =>
	Object.defineProperty(transport, SEND_WITH_ABORT_SOURCE, { value: send })

export const sendWithAbortSource = (transport: Transport): SendWithAbortSource | undefined =>
	(transport as { [SEND_WITH_ABORT_SOURCE]?: SendWithAbortSource })[SEND_WITH_ABORT_SOURCE]
