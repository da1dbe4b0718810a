/**
 * One dispatch: the handler that undici calls, and the response that the engine sees. A successful response
 * is forwarded to the caller from its head on, in the same tick, so that nothing is paused or copied. A
 * failed one is paused until the engine has decided about a retry: then it is drained, or delivered to the
 * caller.
 */
import type { Runtime } from '../../../core/runtime/runtime.ts'

import { type RedirectObserver, redirectObserverOf } from '../../transport/redirect.ts'
import type { TransportInit } from '../../transport/request.ts'
import {
	type BodyObserver,
	headerFrom,
	MAX_DRAIN_MS,
	MAX_DRAINED_BYTES,
	type ObservableResponse,
} from '../../transport/response.ts'
import type { CallerHandler } from './caller-handler.ts'
import type {
	Dispatch,
	DispatchController,
	DispatchHandler,
	DispatchOptions,
	HeaderTable,
} from './undici-types.ts'

/** How a paused body ended. */
type Ending = { readonly trailers: HeaderTable } | { readonly error: unknown }

const NO_HEADERS: HeaderTable = {}

const ignore = (): void => {}

/** Returns the URLs that undici's redirect interceptor, inside this one, has requested so far. */
const historyOf = (context: object | null): readonly unknown[] =>
	context && 'history' in context && Array.isArray(context.history) ? context.history : []

const rejectRead = (): Promise<never> =>
	Promise.reject(new TypeError('Only the caller that sent the request can read the response body'))

export class DispatchAttempt implements ObservableResponse, DispatchHandler {
	status = 0
	statusText = ''
	url: string
	redirected = false
	readonly body = null
	readonly bodyUsed = false
	// Retry hooks can read the head of a failed response. Its bytes go to the caller.
	readonly text: typeof rejectRead = rejectRead
	readonly json: typeof rejectRead = rejectRead
	readonly arrayBuffer: typeof rejectRead = rejectRead
	readonly blob: typeof rejectRead = rejectRead
	readonly #caller: CallerHandler
	readonly #signal: AbortSignal
	readonly #runtime: Runtime
	readonly #redirects: RedirectObserver | undefined
	#history: readonly unknown[] = []
	readonly #head: Promise<this>
	#resolve: (self: this) => void = ignore
	#reject: (reason: unknown) => void = ignore
	#phase: 'pending' | 'forwarded' | 'paused' | 'draining' = 'pending'
	#isOver = false
	#controller: DispatchController | undefined
	#table: HeaderTable = NO_HEADERS
	#observer: BodyObserver | undefined
	/** Chunks that arrived during the pause: undici emits all it has when the server closes the connection. */
	#buffered: Uint8Array[] = []
	#ending: Ending | undefined
	#drained = 0
	#stopTimer: (() => void) | undefined

	constructor(url: string, caller: CallerHandler, init: TransportInit, runtime: Runtime) {
		this.url = url
		this.#caller = caller
		this.#signal = init.signal
		this.#redirects = redirectObserverOf(init)
		this.#runtime = runtime
		this.#head = new Promise((resolve, reject) => {
			this.#resolve = resolve
			this.#reject = reject
		})
	}

	/** Dispatches the request. Resolves with this object when the head of the response has arrived. */
	start(dispatch: Dispatch, options: DispatchOptions): Promise<this> {
		this.#signal.addEventListener('abort', this)
		try {
			dispatch(options, this)
		} catch (error) {
			this.onResponseError(null, error)
		}
		return this.#head
	}

	/** Called when the signal is aborted. undici notices it only after a connection has started the request. */
	handleEvent(): void {
		this.#reject(this.#signal.reason)
		this.#controller?.abort(this.#signal.reason)
	}

	/** Called more than once if an inner interceptor sends several requests. */
	onRequestStart(controller: DispatchController, context: object | null): void {
		this.#controller = controller
		this.#history = historyOf(context)
		this.#checkRedirect()
		if (this.#signal.aborted) controller.abort(this.#signal.reason)
		else this.#caller.onAttemptStart(this, context)
	}

	onBodySent(chunk: Uint8Array): void {
		this.#caller.onBodySent(this, chunk)
	}

	onRequestSent(): void {
		this.#caller.onRequestSent(this)
	}

	onResponseStart(
		controller: DispatchController,
		status: number,
		headers: HeaderTable,
		message?: string,
	): void {
		// An inner interceptor may ignore aborts.
		if (this.#signal.aborted) return
		if (status < 200) {
			this.#caller.onInformational(controller, status, headers, message)
			return
		}
		this.#controller = controller
		this.status = status
		this.statusText = message ?? ''
		this.#table = headers
		const url = this.#history.at(-1)
		if (url !== undefined && this.#history.length > 1) {
			this.url = String(url)
			this.redirected = true
		}
		this.#resolve(this)
		if (status < 400 && this.#caller.claim(this)) {
			this.#phase = 'forwarded'
			this.#caller.onHead(controller, status, headers, message)
			return
		}
		this.#phase = 'paused'
		controller.pause()
	}

	onResponseData(_: DispatchController, chunk: Uint8Array): void {
		if (this.#phase === 'forwarded') this.#caller.onData(chunk)
		else if (this.#phase === 'paused') this.#buffered.push(chunk)
		else this.#countDrained(chunk.byteLength)
	}

	onResponseEnd(_: DispatchController, trailers: HeaderTable): void {
		this.#end()
		if (this.#phase === 'forwarded') this.#caller.onEnd(trailers)
		else this.#ending = { trailers }
	}

	onResponseError(_: DispatchController | null, failure: unknown): void {
		const error = this.#end(failure)
		// The connection to the next origin may have failed.
		if (this.#phase === 'pending') this.#checkRedirect()
		this.#reject(error)
		if (this.#phase === 'forwarded') this.#caller.fail(error)
		else this.#ending = { error }
	}

	/** Delivers the paused response to the caller, because there is no further attempt. */
	deliver(): void {
		const caller = this.#caller
		const controller = this.#controller
		if (this.#phase !== 'paused' || !controller || !caller.claim(this)) return
		this.#phase = 'forwarded'
		const ending = this.#ending
		try {
			caller.onHead(controller, this.status, this.#table, this.statusText)
			for (const chunk of this.#buffered) caller.onData(chunk)
			if (!ending) {
				if (!caller.paused) controller.resume()
			} else if ('trailers' in ending) caller.onEnd(ending.trailers)
			else caller.fail(ending.error)
		} catch (error) {
			// The caller's handler threw, which fails the request if it is still running.
			if (ending) caller.fail(error)
			else controller.abort(error)
		}
		this.#buffered = []
	}

	async drain(): Promise<void> {
		if (this.#phase !== 'paused') return
		this.#phase = 'draining'
		const buffered = this.#buffered
		this.#buffered = []
		if (this.#isOver) return
		this.#stopTimer = this.#runtime.setTimer(MAX_DRAIN_MS, () => this.#cancel(), 'housekeeping')
		if (Number(this.header('content-length')) > MAX_DRAINED_BYTES) this.#cancel()
		else {
			for (const { byteLength } of buffered) this.#countDrained(byteLength)
			if (!this.#isOver) this.#controller?.resume()
		}
	}

	/** The body may have ended already. An event stream does not end, so its timeout ends immediately. */
	observe(observer: BodyObserver): void {
		if (this.#isOver) observer.onEnd()
		else if (this.header('content-type')?.startsWith('text/event-stream')) observer.onHandOver()
		else this.#observer = observer
	}

	get ok(): boolean {
		return this.status >= 200 && this.status <= 299
	}

	/** Returns a header by its lower-case name without creating a `Headers` object, or null. */
	header(name: string): string | null {
		return headerFrom(this.#table, name)
	}

	get headers(): Headers {
		const headers = new Headers()
		for (const name of Object.keys(this.#table)) headers.append(name, this.header(name) ?? '')
		return headers
	}

	/** A URL is in the history after its response, so an entry before the first response means a redirect. */
	#checkRedirect(): void {
		if (this.#history.length > 0) void this.#redirects?.onRedirect(undefined, false)
	}

	#countDrained(bytes: number): void {
		this.#drained += bytes
		if (this.#drained > MAX_DRAINED_BYTES && !this.#isOver) this.#cancel()
	}

	#cancel(): void {
		this.#controller?.abort(new DOMException('The rest of a failed response is discarded', 'AbortError'))
		this.#end()
	}

	/** Releases timer and listener. Returns the error, or the one that the observer replaces it with. */
	#end(failure?: unknown): unknown {
		const observer = this.#observer
		this.#observer = undefined
		this.#isOver = true
		this.#stopTimer?.()
		this.#signal.removeEventListener('abort', this)
		return observer ? observer.onEnd(failure) : failure
	}
}
