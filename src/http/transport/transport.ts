/**
 * How a request gets onto the wire. A transport is a function like `fetch`, so that `fetch` itself is one, and what comes
 * back is the part of a `Response` that people read. It is an interface and not the class, for making a real `Response`
 * costs more than the rest of a request over undici's `request`.
 */

/** The part of a `Response` that every transport gives. A real `Response` is one. */
export interface HttpResponse {
	readonly status: number
	readonly statusText: string
	/** Is the status from 200 to 299? */
	readonly ok: boolean
	/** Where it came from, after redirects. */
	readonly url: string
	readonly redirected: boolean
	readonly headers: Headers
	readonly body: ReadableStream<Uint8Array<ArrayBuffer>> | null
	readonly bodyUsed: boolean
	text(): Promise<string>
	// What is in a body nobody knows; `fetch` says so with the same type.
	json(): ReturnType<Response['json']>
	arrayBuffer(): Promise<ArrayBuffer>
	blob(): Promise<Blob>
}

/** Told what becomes of a body, so that the time for it ends with it. */
export interface BodyObserver {
	/** Somebody has begun to read it, by `text()` and the like. */
	began(): void
	/** It has been read to its end, or reading it failed with this. Answers what to throw in its place. */
	ended(error?: unknown): unknown
	/** It is the caller's from now on, however long that takes. */
	handedOver(): void
}

/** A response that tells about its body itself. A real `Response` can not, and is watched (watch.ts). */
export interface ObservableResponse extends HttpResponse {
	/** Called at most once, before anybody reads the body. */
	observe(follower: BodyObserver): void
	/** Does somebody read the stream itself, or has somebody? To look at it is not to take it. */
	readonly isTaken?: boolean
	/** Throws the rest of the body away and frees the connection. Never rejects. */
	discard(): Promise<void>
}

/** By what it can do: transports are the user's own, too. */
export const isObservable = (response: HttpResponse): response is ObservableResponse => 'follow' in response

/** As much of a signal as a transport needs to hear of an abort. */
export interface AbortListenable {
	readonly isAborted: boolean
	/** What it was aborted with. */
	readonly cause: unknown
	addEventListener(type: 'abort', listener: (() => void) | { handleEvent(): void }): void
	removeEventListener(type: 'abort', listener: (() => void) | { handleEvent(): void }): void
}

/** What a transport is asked to send. The body is new for each attempt. */
export interface TransportInit extends RequestInit {
	readonly method: string
	readonly signal: AbortSignal
	/** Set beside a stream, as `fetch` wants it. */
	readonly duplex?: 'half'
}

/** The same for a transport that only listens for an abort. */
export interface ListenableInit extends Omit<TransportInit, 'signal'> {
	readonly signal?: AbortSignal | undefined
	readonly notice: AbortListenable
}

/**
 * Sends a request and answers when the head of the response is there. Rejects as `fetch` does: with the signal's reason when
 * that is aborted, and with whatever the network said otherwise.
 *
 * @example
 * const client = new ResilientHttpClient({ transport: undiciTransport(undici) })
 */
export type Transport<R extends HttpResponse = HttpResponse> = ((
	url: string,
	init: TransportInit,
) => Promise<R>) & {
	/** The same without a signal: one that mostly never comes costs a tenth of a request. Used where there is one. */
	readonly withNotice?: (url: string, init: ListenableInit) => Promise<R>
}

/** A header of a response. What undici's `request` gives answers without making a `Headers` of all of them. */
export function headerOf(response: HttpResponse, name: string): string | null {
	return hasHeader(response) ? response.header(name) : response.headers.get(name)
}

const hasHeader = (
	response: HttpResponse,
): response is HttpResponse & { header(name: string): string | null } => 'header' in response

/** So much of a body is read for the sake of its connection, in bytes. */
export const MAX_DRAINED_BYTES = 65_536
/** And for so long. */
export const MAX_DRAIN_MS = 1_000
