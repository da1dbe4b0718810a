/** What is sent, and what the engine sees of a response: a `Response`, or the view of an adapter on one of its package. */
import type { HeaderLookup } from '../../core/headers/header-values.ts'

/** The part of a `Response` that adapters return too. Retry hooks receive it. */
export type HttpResponse = Pick<
	Response,
	| 'status'
	| 'statusText'
	| 'ok'
	| 'url'
	| 'redirected'
	| 'headers'
	| 'body'
	| 'bodyUsed'
	| 'text'
	| 'json'
	| 'arrayBuffer'
	| 'blob'
>

/** Functions of the user, such as mocks, may return something else. `in`, because an adapter creates its headers when they are read. */
export const isResponse = (value: unknown): boolean => 'headers' in Object(value)

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
	/** Drains or cancels the rest of the body and frees the connection. Never rejects. */
	drain(): Promise<void>
}

export const isObservable = (response: HttpResponse): response is ObservableResponse => 'observe' in response

/** Unread bodies are drained up to this size and time to reuse the connection, then cancelled. */
export const MAX_DRAINED_BYTES = 65_536
export const MAX_DRAIN_MS = 1_000

/** A response class of an adapter, which has its headers without a `Headers` object. */
interface HasHeader {
	header?(name: string): string | null
}

/** Returns the headers of a response, by lower-case name. */
export const headersOf = (response: HttpResponse & HasHeader): HeaderLookup =>
	response.header ? { get: (name) => response.header?.(name) } : response.headers

/** Returns a header of a table with lower-case names, its lines joined by commas, or null. */
export function headerFrom(
	table: Readonly<Record<string, string | string[] | undefined>>,
	name: string,
): string | null {
	const value = Object.hasOwn(table, name) ? table[name] : undefined
	return Array.isArray(value) ? value.join(', ') : (value ?? null)
}

/** The init of one attempt. The body is new for each attempt. */
export interface TransportInit extends RequestInit {
	readonly method: string
	readonly signal: AbortSignal
	/** Set if the body is a stream, as `fetch` requires. */
	readonly duplex?: 'half'
}
