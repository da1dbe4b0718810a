import type { SignalLink } from '../../core/engine/scope.ts'

/** What hears of an abort: a function, or an object as event targets know it. */
type AbortListener = (() => void) | { handleEvent(): void }

/**
 * The abort of one attempt, which mostly never comes. A real signal is made when somebody asks for it; who only wants to hear of the
 * abort, as undici does, listens here. A real one with its listener costs a tenth of such a request. (It has no `aborted`, or undici
 * would hand it to Node as a real one.)
 */
export class LazyAbortSignal implements SignalLink {
	isAborted = false
	reason: unknown
	#controller: AbortController | undefined
	#listeners: AbortListener[] | undefined
	#listener: AbortListener | undefined

	/** The same, by the name that transports know. */
	get cause(): unknown {
		return this.reason
	}

	/** The same as a real signal. */
	get signal(): AbortSignal {
		if (!this.#controller) {
			this.#controller = new AbortController()
			if (this.isAborted) this.#controller.abort(this.reason)
		}
		return this.#controller.signal
	}

	abort(reason: unknown): void {
		if (this.isAborted) return
		this.isAborted = true
		this.reason = reason
		this.#controller?.abort(reason)
		for (const listener of [this.#listener, ...(this.#listeners ?? [])])
			if (typeof listener === 'function') listener()
			else listener?.handleEvent()
	}

	addEventListener(_: 'abort', listener: AbortListener): void {
		if (!this.#listener) this.#listener = listener
		else {
			this.#listeners ??= []
			this.#listeners.push(listener)
		}
	}

	removeEventListener(_: 'abort', listener: AbortListener): void {
		if (this.#listener === listener) this.#listener = undefined
		else this.#listeners = this.#listeners?.filter((other) => other !== listener)
	}
}
