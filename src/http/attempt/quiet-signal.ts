import type { Tie } from '../../core/engine/scope.ts'

/** What hears of an abort: a function, or an object as event targets know it. */
type AbortListener = (() => void) | { handleEvent(): void }

/**
 * The abort of one attempt, which mostly never comes. A real signal is made when somebody asks for it; who only wants to hear of the
 * abort, as the transport over undici does, listens here. A real one with its listener costs a tenth of such a request.
 */
export class QuietSignal implements Tie {
	aborted = false
	reason: unknown
	#controller: AbortController | undefined
	#listeners: AbortListener[] | undefined
	#listener: AbortListener | undefined

	/** The same as a real signal. */
	get signal(): AbortSignal {
		if (!this.#controller) {
			this.#controller = new AbortController()
			if (this.aborted) this.#controller.abort(this.reason)
		}
		return this.#controller.signal
	}

	abort(reason: unknown): void {
		if (this.aborted) return
		this.aborted = true
		this.reason = reason
		this.#controller?.abort(reason)
		for (const listener of [this.#listener, ...(this.#listeners ?? [])])
			if (typeof listener === 'function') listener()
			else listener?.handleEvent()
	}

	throwIfAborted(): void {
		if (this.aborted) throw this.reason
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
