/** What the engine sees of a response: a `Response`, or the view of an adapter on one of its package. */
import type { BoundLayer, Call } from '../../core/engine/call.ts'
import type { ObservableLayer } from '../../core/engine/policy.ts'
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

/** A user's function may return something else. `in`, because adapters create headers on first read. */
export const isResponse = (value: unknown): boolean => 'headers' in Object(value)

const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308]

export const isRedirect = (status: number): boolean => REDIRECTS.includes(status)

/** Notified of what happens to a response body, so that the body's timeout ends with it. */
export interface BodyObserver {
	/** The caller has called `text()` or a similar method. */
	onReadStart(): void
	/** The body was read to its end, or reading failed with this error. Returns the error to throw instead. */
	onEnd(error?: unknown): unknown
	/** The caller has taken over the stream: the timeout no longer applies, but the caller's abort does. */
	onHandOver(stream?: object): void
}

/** A response that notifies about its body. A real `Response` cannot; see request/attempt-body.ts. */
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

/** Called with the bytes so far, after each chunk and at the end. Its error ends the body. */
export type CountBytes = (received: number, isEnd: boolean) => void

/** Returns a function that emits the progress of a download. */
export type ReportProgress = (
	layer: Pick<ObservableLayer, 'emit'>,
	call: Call,
	bound: BoundLayer,
	headers: Headers,
) => CountBytes

/** The properties that a rebuilt response copies. */
export interface RebuiltHead {
	readonly status: number
	readonly statusText: string
	readonly url: string
	readonly redirected?: boolean
	readonly headers: Headers
}

/** With these statuses the constructor rejects any body, even an empty one. */
const BODILESS: readonly number[] = [204, 205, 304]

/** Returns a copy of a `Response` with another body. Its URL is defined: the constructor accepts none. */
export function rebuildResponse(
	body: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array<ArrayBuffer>>,
	head: RebuiltHead,
): Response {
	const { status, statusText, headers } = head
	const init = { status, statusText, headers }
	return moveToUrlOf(head, new Response(BODILESS.includes(status) ? null : body, init))
}

/** Gives a new response the URL of another one, unless it has its own. */
export function moveToUrlOf<R extends { readonly url: string }>(
	{ url, redirected = false }: Pick<RebuiltHead, 'url' | 'redirected'>,
	response: R,
): R {
	if (response.url) return response
	for (const [name, value] of Object.entries({ url, redirected }))
		Object.defineProperty(response, name, { value, configurable: true, enumerable: true })
	return response
}
