/**
 * Handlers of the older kind. The `fetch` of Node 22 and 24 brings them along, and undici 8 refuses them; undici 7 turns them into the
 * newer kind before an interceptor sees them. With this, `fetch(url, { dispatcher })` works whatever the two versions are.
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

/** A handler of the newer kind that tells one of the older kind. */
export class LegacyHandlerAdapter implements DispatchHandler {
	readonly #handler: LegacyHandler

	constructor(handler: LegacyHandler) {
		this.#handler = handler
	}

	onRequestStart(controller: DispatchController, context: object | null): void {
		this.#handler.onConnect?.((reason) => controller.abort(reason), context)
	}

	onBodySent(chunk: Uint8Array): void {
		this.#handler.onBodySent?.(chunk)
	}

	onRequestSent(): void {
		this.#handler.onRequestSent?.()
	}

	onResponseStarted(): void {
		this.#handler.onResponseStarted?.()
	}

	onResponseStart(
		controller: DispatchController,
		status: number,
		headers: HeaderTable,
		message?: string,
	): void {
		const raw = flat(controller.rawHeaders, headers)
		const goesOn = this.#handler.onHeaders?.(status, raw, () => controller.resume(), message)
		if (goesOn === false) controller.pause()
	}

	onResponseData(controller: DispatchController, chunk: Uint8Array): void {
		if (this.#handler.onData?.(chunk) === false) controller.pause()
	}

	onResponseEnd(controller: DispatchController, trailers: HeaderTable): void {
		this.#handler.onComplete?.(flat(controller.rawTrailers, trailers))
	}

	onResponseError(_: DispatchController | null, error: unknown): void {
		this.#handler.onError?.(error)
	}
}

/** Name, value, name, value: as they came, or where an interceptor further in made them up, from the table. */
function flat(raw: unknown, table: HeaderTable | null | undefined): readonly unknown[] {
	if (Array.isArray(raw)) return raw
	return Object.entries(table ?? {}).flatMap(([name, value]) =>
		[value ?? ''].flat().flatMap((line) => [name, line]),
	)
}
