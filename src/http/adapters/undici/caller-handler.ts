/**
 * The caller's handler, which sees one request however many attempts are sent. It receives this controller
 * before the first attempt, so that it can abort in a queue and between attempts; undici's own controllers
 * belong to one attempt. The first attempt with an acceptable response claims the handler; later events of
 * other attempts are ignored.
 */
import { notify } from '../../../core/options/hooks.ts'
import type { DispatchController, DispatchHandler, HeaderTable } from './undici-types.ts'

export class CallerHandler implements DispatchController {
	rawHeaders: unknown = null
	rawTrailers: unknown = null
	readonly #handler: DispatchHandler
	readonly #aborting = new AbortController()
	/** Information of inner interceptors, such as redirects; set when an attempt starts. */
	readonly #context: object = {}
	/** The attempt whose response the caller receives. */
	#claimedBy: object | undefined
	#first: object | undefined
	#source: DispatchController | undefined
	#isPaused = false
	#isOver = false

	constructor(handler: DispatchHandler) {
		this.#handler = handler
	}

	/** Aborted only by the caller. */
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

	/** Notifies the handler of the start. Returns false if the request must not be sent. */
	start(): boolean {
		try {
			this.#handler.onRequestStart?.(this, this.#context)
		} catch (error) {
			this.fail(error)
		}
		return !this.#isOver
	}

	onAttemptStart(attempt: object, context: object | null): void {
		this.#first ??= attempt
		Object.assign(this.#context, context)
	}

	/** Forwarded for the first attempt only, or an upload's progress would be shown twice. */
	onBodySent(attempt: object, chunk: Uint8Array): void {
		if (attempt === this.#first) this.#handler.onBodySent?.(chunk)
	}

	onRequestSent(attempt: object): void {
		if (attempt === this.#first) this.#handler.onRequestSent?.()
	}

	/** Forwards an informational response of any attempt. */
	onInformational(source: DispatchController, status: number, headers: HeaderTable, message?: string): void {
		if (this.#claimedBy || this.#isOver) return
		this.rawHeaders = source.rawHeaders
		this.#handler.onResponseStart?.(this, status, headers, message)
	}

	/** Returns true if this attempt's response goes to the caller. Of concurrent attempts the first one wins. */
	claim(attempt: object): boolean {
		if (this.#claimedBy || this.#isOver) return false
		this.#claimedBy = attempt
		return true
	}

	onHead(source: DispatchController, status: number, headers: HeaderTable, message?: string): void {
		this.#source = source
		this.rawHeaders = source.rawHeaders
		if (this.#isPaused) source.pause()
		this.#handler.onResponseStarted?.()
		this.#handler.onResponseStart?.(this, status, headers, message)
	}

	onData(chunk: Uint8Array): void {
		this.#handler.onResponseData?.(this, chunk)
	}

	/** If the handler throws, the request is not over: undici reports the error next. */
	onEnd(trailers: HeaderTable): void {
		this.rawTrailers = this.#source?.rawTrailers
		this.#handler.onResponseEnd?.(this, trailers)
		this.#isOver = true
	}

	/** Reports an error, unless an attempt has claimed the handler: that attempt reports its own errors. */
	failUnlessClaimed(error: unknown): void {
		if (!this.#claimedBy) this.fail(error)
	}

	fail(error: unknown): void {
		if (this.#isOver) return
		this.#isOver = true
		notify('onResponseError', () => this.#handler.onResponseError?.(this, error))
	}
}
