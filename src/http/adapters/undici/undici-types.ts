/**
 * The part of undici's dispatching that is used here, as structural types: undici is never imported, so that its version is the
 * user's choice. Loose where versions 7 and 8 differ, and methods throughout, since that is how undici declares them.
 */

/** A request as a dispatcher is asked for it. There is more to it, which is handed through. */
export interface DispatchOptions {
	readonly origin?: unknown
	readonly path: string
	readonly method: string
	readonly headers?: unknown
	readonly body?: unknown
	/** May it be sent twice? */
	readonly idempotent?: unknown
	readonly upgrade?: unknown
}

/** The headers of a response. Names are in lower case. */
export type HeaderTable = Readonly<Record<string, string | string[] | undefined>>

/** What a handler stops, slows down and ends its request with. */
export interface DispatchController {
	readonly aborted: boolean
	readonly paused: boolean
	readonly reason: unknown
	rawHeaders?: unknown
	rawTrailers?: unknown
	abort(reason?: unknown): void
	pause(): void
	resume(): void
}

/** Who is told how a request goes. */
export interface DispatchHandler {
	onRequestStart?(controller: DispatchController, context: object | null): void
	onBodySent?(chunk: Uint8Array): void
	onRequestSent?(): void
	onResponseStarted?(): void
	onResponseStart?(
		controller: DispatchController,
		statusCode: number,
		headers: HeaderTable,
		statusMessage?: string,
	): void
	onResponseData?(controller: DispatchController, chunk: Uint8Array): void
	onResponseEnd?(controller: DispatchController, trailers: HeaderTable): void
	/** There is no controller when the request could not even begin. */
	onResponseError?(controller: DispatchController | null, error: unknown): void
}

interface Dispatcher {
	dispatch(options: DispatchOptions, handler: DispatchHandler): boolean
}

/** Sends a request and tells its handler; false when the dispatcher would rather have no more for the moment. */
export type Dispatch = Dispatcher['dispatch']
