/**
 * The handler that the caller gave, told of one request however many were sent. It gets its controller before the first attempt,
 * so that an abort is heard in a queue and in a wait between two attempts as well; a controller of undici's own belongs
 * to one attempt and would be gone by then. The first attempt whose answer is good enough takes the caller over, and nobody
 * else has a word to say to it from then on.
 */
import { notify } from '../../../core/engine/hooks.ts'
import type { DispatchController, DispatchHandler, HeaderTable } from './undici-types.ts'

export class CallerHandler implements DispatchController {
	rawHeaders: unknown = null
	rawTrailers: unknown = null
	readonly #handler: DispatchHandler
	readonly #aborting = new AbortController()
	/** What interceptors further in have to say of the request, such as the redirects. They say it when an attempt begins. */
	readonly #context: object = {}
	/** The attempt whose answer the caller gets, and the first one that was sent. */
	#giver: object | undefined
	#first: object | undefined
	#source: DispatchController | undefined
	#isPaused = false
	#isOver = false

	constructor(handler: DispatchHandler) {
		this.#handler = handler
	}

	/** Aborted by the caller, and by nobody else. */
	get signal(): AbortSignal {
		return this.#aborting.signal
	}

	get aborted(): boolean {
		return this.signal.aborted
	}

	get reason(): unknown {
		return this.signal.reason ?? null
	}

	get paused(): boolean {
		return this.#isPaused
	}

	abort(reason?: unknown): void {
		this.#aborting.abort(reason ?? undefined)
	}

	pause(): void {
		this.#isPaused = true
		this.#source?.pause()
	}

	resume(): void {
		this.#isPaused = false
		this.#source?.resume()
	}

	/** Answers whether the request is to be sent. */
	begin(): boolean {
		try {
			this.#handler.onRequestStart?.(this, this.#context)
		} catch (error) {
			this.fail(error)
		}
		return !this.#isOver
	}

	attemptBegins(attempt: object, context: object | null): void {
		this.#first ??= attempt
		Object.assign(this.#context, context)
	}

	/** Only of the first attempt: who shows the progress of an upload does not want to see it twice. */
	bodySent(attempt: object, chunk: Uint8Array): void {
		if (attempt === this.#first) this.#handler.onBodySent?.(chunk)
	}

	requestSent(attempt: object): void {
		if (attempt === this.#first) this.#handler.onRequestSent?.()
	}

	/** An informational answer, of whichever attempt. */
	inform(source: DispatchController, status: number, headers: HeaderTable, message?: string): void {
		if (this.#giver || this.#isOver) return
		this.rawHeaders = source.rawHeaders
		this.#handler.onResponseStart?.(this, status, headers, message)
	}

	/** Answers whether this attempt may answer the caller. Of several at once, one may. */
	take(attempt: object): boolean {
		if (this.#giver || this.#isOver) return false
		this.#giver = attempt
		return true
	}

	head(source: DispatchController, status: number, headers: HeaderTable, message?: string): void {
		this.#source = source
		this.rawHeaders = source.rawHeaders
		if (this.#isPaused) source.pause()
		this.#handler.onResponseStarted?.()
		this.#handler.onResponseStart?.(this, status, headers, message)
	}

	data(chunk: Uint8Array): void {
		this.#handler.onResponseData?.(this, chunk)
	}

	/** Not over when the handler throws: undici makes a failure of that, which it is told next. */
	end(trailers: HeaderTable): void {
		this.rawTrailers = this.#source?.rawTrailers
		this.#handler.onResponseEnd?.(this, trailers)
		this.#isOver = true
	}

	/** No attempt answers the caller. What goes wrong with one that does, it tells itself. */
	refuse(error: unknown): void {
		if (!this.#giver) this.fail(error)
	}

	fail(error: unknown): void {
		if (this.#isOver) return
		this.#isOver = true
		notify('onResponseError', () => this.#handler.onResponseError?.(this, error))
	}
}
