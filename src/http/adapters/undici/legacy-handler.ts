/**
 * Adapts handlers of the older kind. The `fetch` of Node 22 and 24 passes them, undici 8 rejects them, and
 * undici 7 converts them before an interceptor sees them. With this, `fetch(url, { dispatcher })` works with
 * any combination of versions.
 */
import type { DispatchController, DispatchHandler, HeaderTable } from './undici-types.ts'

interface LegacyHandler {
	onConnect?(abort: (reason?: unknown) => void, context: object | null): void
	onBodySent?(chunk: Uint8Array): void
	onRequestSent?(): void
	onResponseStarted?(): void
	onHeaders?(status: number, raw: readonly unknown[], resume: () => void, message?: string): unknown
	onData?(chunk: Uint8Array): unknown
	onComplete?(rawTrailers: readonly unknown[]): void
	onError?(error: unknown): void
}

export const isLegacy = (handler: object): handler is LegacyHandler =>
	!('onRequestStart' in handler) && 'onConnect' in handler

/** Returns a handler of the newer kind that calls one of the older kind. */
export const adaptLegacyHandler = (handler: LegacyHandler): DispatchHandler => ({
	onRequestStart: (controller, context) => handler.onConnect?.((reason) => controller.abort(reason), context),
	onBodySent: (chunk) => handler.onBodySent?.(chunk),
	onRequestSent: () => handler.onRequestSent?.(),
	onResponseStarted: () => handler.onResponseStarted?.(),
	onResponseStart(controller, status, headers, message) {
		const raw = rawHeaders(controller.rawHeaders, headers)
		pauseIf(handler.onHeaders?.(status, raw, () => controller.resume(), message) === false, controller)
	},
	onResponseData: (controller, chunk) => pauseIf(handler.onData?.(chunk) === false, controller),
	onResponseEnd: (controller, trailers) => handler.onComplete?.(rawHeaders(controller.rawTrailers, trailers)),
	onResponseError: (_, error) => handler.onError?.(error),
})

function pauseIf(isFull: boolean, controller: DispatchController): void {
	if (isFull) controller.pause()
}

/** Returns name, value, name, value: as received, or from the table of an interceptor's response. */
function rawHeaders(raw: unknown, table: HeaderTable | null | undefined): readonly unknown[] {
	if (Array.isArray(raw)) return raw
	return Object.entries(table ?? {}).flatMap(([name, value]) =>
		[value ?? ''].flat().flatMap((line) => [name, line]),
	)
}
