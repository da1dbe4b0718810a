/**
 * One dispatch: what undici tells of it, and the response that the engine decides upon. A good answer is the caller's from its head on, in
 * the same tick, so that nothing is paused or copied. A bad one is held back until it is decided whether there is another attempt:
 * then the rest of it is thrown away, or else the caller gets it as though nothing had happened.
 */
import type { Runtime } from '../../../core/runtime/runtime.ts'

import {
	type BodyObserver,
	MAX_DRAIN_MS,
	MAX_DRAINED_BYTES,
	type ObservableResponse,
} from '../../transport/transport.ts'
import type { CallerHandler } from './caller-handler.ts'
import type {
	Dispatch,
	DispatchController,
	DispatchHandler,
	DispatchOptions,
	HeaderTable,
} from './undici-types.ts'

/** How a body ended that was held back: in good form, or not. */
type Ending = { readonly trailers: HeaderTable } | { readonly error: unknown }

const NO_HEADERS: HeaderTable = {}

const ignore = (): void => {}

export class DispatchAttempt implements ObservableResponse, DispatchHandler {
	status = 0
	statusText = ''
	readonly url: string
	readonly redirected = false
	readonly body = null
	readonly bodyUsed = false
	readonly #caller: CallerHandler
	readonly #signal: AbortSignal
	readonly #runtime: Runtime
	readonly #head: Promise<this>
	#resolve: (self: this) => void = ignore
	#reject: (reason: unknown) => void = ignore
	#phase: 'asked' | 'given' | 'held' | 'dropped' = 'asked'
	#isOver = false
	#controller: DispatchController | undefined
	#table: HeaderTable = NO_HEADERS
	#follower: BodyObserver | undefined
	/** What came in spite of the pause: undici lets go of all it has when the server hangs up. */
	#held: Uint8Array[] = []
	#ending: Ending | undefined
	#drained = 0
	#stopTimer: (() => void) | undefined

	constructor(url: string, caller: CallerHandler, signal: AbortSignal, runtime: Runtime) {
		this.url = url
		this.#caller = caller
		this.#signal = signal
		this.#runtime = runtime
		this.#head = new Promise((resolve, reject) => {
			this.#resolve = resolve
			this.#reject = reject
		})
	}

	/** Resolves with itself when the head of a response is there. */
	open(dispatch: Dispatch, options: DispatchOptions): Promise<this> {
		this.#signal.addEventListener('abort', this)
		try {
			dispatch(options, this)
		} catch (error) {
			this.onResponseError(null, error)
		}
		return this.#head
	}

	/** The signal was aborted. undici hears of it only when a connection has taken the request up. */
	handleEvent(): void {
		this.#reject(this.#signal.reason)
		this.#controller?.abort(this.#signal.reason)
	}

	/** More than once where an interceptor further in sends more than one request. */
	onRequestStart(controller: DispatchController, context: object | null): void {
		this.#controller = controller
		if (this.#signal.aborted) controller.abort(this.#signal.reason)
		else this.#caller.attemptBegins(this, context)
	}

	onBodySent(chunk: Uint8Array): void {
		this.#caller.bodySent(this, chunk)
	}

	onRequestSent(): void {
		this.#caller.requestSent(this)
	}

	onResponseStart(
		controller: DispatchController,
		status: number,
		headers: HeaderTable,
		message?: string,
	): void {
		// Where an interceptor further in is deaf to aborts.
		if (this.#signal.aborted) return
		if (status < 200) {
			this.#caller.inform(controller, status, headers, message)
			return
		}
		this.#controller = controller
		this.status = status
		this.statusText = message ?? ''
		this.#table = headers
		this.#resolve(this)
		if (status < 400 && this.#caller.take(this)) {
			this.#phase = 'given'
			this.#caller.head(controller, status, headers, message)
			return
		}
		this.#phase = 'held'
		controller.pause()
	}

	onResponseData(_: DispatchController, chunk: Uint8Array): void {
		if (this.#phase === 'given') this.#caller.data(chunk)
		else if (this.#phase === 'held') this.#held.push(chunk)
		else this.#drain(chunk.byteLength)
	}

	onResponseEnd(_: DispatchController, trailers: HeaderTable): void {
		this.#end()
		if (this.#phase === 'given') this.#caller.end(trailers)
		else this.#ending = { trailers }
	}

	onResponseError(_: DispatchController | null, failure: unknown): void {
		const error = this.#end(failure)
		this.#reject(error)
		if (this.#phase === 'given') this.#caller.fail(error)
		else this.#ending = { error }
	}

	/** There will be no better answer than this one, which was held back: the caller gets it. */
	give(): void {
		const caller = this.#caller
		const controller = this.#controller
		if (this.#phase !== 'held' || !controller || !caller.take(this)) return
		this.#phase = 'given'
		const ending = this.#ending
		try {
			caller.head(controller, this.status, this.#table, this.statusText)
			for (const chunk of this.#held) caller.data(chunk)
			if (!ending) {
				if (!caller.paused) controller.resume()
			} else if ('trailers' in ending) caller.end(ending.trailers)
			else caller.fail(ending.error)
		} catch (error) {
			// Thrown by the caller's handler, which is a failure of the request as long as that goes on.
			if (ending) caller.fail(error)
			else controller.abort(error)
		}
		this.#held = []
	}

	/** Reads a small rest for the sake of its connection, and cuts off a large or a slow one. Nobody has to wait for it. */
	async discard(): Promise<void> {
		if (this.#phase !== 'held') return
		this.#phase = 'dropped'
		const held = this.#held
		this.#held = []
		if (this.#isOver) return
		this.#stopTimer = this.#runtime.setTimer(MAX_DRAIN_MS, () => this.#cutOff(), 'housekeeping')
		if (Number(this.header('content-length')) > MAX_DRAINED_BYTES) this.#cutOff()
		else {
			for (const { byteLength } of held) this.#drain(byteLength)
			if (!this.#isOver) this.#controller?.resume()
		}
	}

	/** Told of the end of the body, which may be past. A stream of events has none, and is the caller's at once. */
	observe(follower: BodyObserver): void {
		if (this.#isOver) follower.ended()
		else if (this.header('content-type')?.startsWith('text/event-stream')) follower.handedOver()
		else this.#follower = follower
	}

	get ok(): boolean {
		return this.status >= 200 && this.status <= 299
	}

	/** A header without the `Headers`. The name is in lower case. */
	header(name: string): string | null {
		const value = Object.hasOwn(this.#table, name) ? this.#table[name] : undefined
		return Array.isArray(value) ? value.join(', ') : (value ?? null)
	}

	get headers(): Headers {
		const headers = new Headers()
		for (const name of Object.keys(this.#table)) headers.append(name, this.header(name) ?? '')
		return headers
	}

	// Who looks at a failed answer between two attempts finds its head here. The bytes are on their way to the caller.
	text(): Promise<string> {
		return notHere()
	}

	json(): ReturnType<Response['json']> {
		return notHere()
	}

	arrayBuffer(): Promise<ArrayBuffer> {
		return notHere()
	}

	blob(): Promise<Blob> {
		return notHere()
	}

	#drain(bytes: number): void {
		this.#drained += bytes
		if (this.#drained > MAX_DRAINED_BYTES && !this.#isOver) this.#cutOff()
	}

	#cutOff(): void {
		this.#controller?.abort(new DOMException('the rest of a failed answer is not wanted', 'AbortError'))
		this.#end()
	}

	/** Neither timer nor listener stays. Answers what the failure is, as far as the follower knows better. */
	#end(failure?: unknown): unknown {
		const follower = this.#follower
		this.#follower = undefined
		this.#isOver = true
		this.#stopTimer?.()
		this.#signal.removeEventListener('abort', this)
		return follower ? follower.ended(failure) : failure
	}
}

const notHere = (): Promise<never> =>
	Promise.reject(new TypeError('the body of this answer can be read only by who sent the request'))
