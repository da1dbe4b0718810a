/**
 * The part of undici's dispatcher API that is used here, as structural types: the package never imports
 * undici, so users choose its version. The types are loose where versions 7 and 8 differ, and use methods, as
 * undici declares them.
 */

/** The options of a request. Further properties are passed through. */
export interface DispatchOptions {
	readonly origin?: unknown
	readonly path: string
	readonly method: string
	readonly headers?: unknown
	readonly body?: unknown
	/** Whether the request may be sent twice. */
	readonly idempotent?: unknown
	readonly upgrade?: unknown
}

/** Response headers; names are in lower case. */
export type HeaderTable = Readonly<Record<string, string | string[] | undefined>>

/** Lets a handler abort, pause and resume its request. */
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

/** Receives the events of a request. */
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
	/** The controller is null if the request could not start. */
	onResponseError?(controller: DispatchController | null, error: unknown): void
}

interface Dispatcher {
	dispatch(options: DispatchOptions, handler: DispatchHandler): boolean
}

/** Sends a request and notifies its handler; returns false if the dispatcher is busy. */
export type Dispatch = Dispatcher['dispatch']
