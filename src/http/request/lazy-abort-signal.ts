import type { SignalLink } from '../../core/engine/scope.ts'
import type { AbortSource } from '../transport/transport.ts'

type AbortListener = (() => void) | { handleEvent(): void }

/**
 * The abort of one attempt, which is rarely needed. A real signal is created on first use; undici listens here instead. A real signal with
 * its listener costs a tenth of a request over undici. (There is no `aborted`, or undici would pass this object to Node as a real signal.)
 */
export class LazyAbortSignal implements SignalLink, AbortSource {
	isAborted = false
	reason: unknown
	#controller: AbortController | undefined
	#listeners: AbortListener[] | undefined
	/** The first listener: mostly there is only one, and an array per request costs. */
	#listener: AbortListener | undefined

	get cause(): unknown {
		return this.reason
	}

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
