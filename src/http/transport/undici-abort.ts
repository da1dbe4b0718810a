/**
 * Connects a real signal to an undici request. undici notices an abort only after a connection has started the request, so a call to an
 * unresponsive host would ignore its signal for ten seconds. This object looks enough like a signal for undici, holds the only
 * listener on the real one, and rejects immediately.
 */
import type { AbortSource } from './transport.ts'
import type { UndiciResult } from './undici-module.ts'

export class UndiciAbort implements AbortSource {
	readonly #signal: AbortSignal
	#reject: ((reason: unknown) => void) | undefined
	#listener: (() => void) | undefined

	constructor(signal: AbortSignal) {
		this.#signal = signal
	}

	/** Settles with the result, or rejects with the signal's reason as soon as it is aborted. */
	race(result: Promise<UndiciResult>): Promise<UndiciResult> {
		return new Promise((resolve, reject) => {
			this.#reject = reject
			result.then(resolve, reject)
		})
	}

	get isAborted(): boolean {
		return this.#signal.aborted
	}

	get cause(): unknown {
		return this.#signal.reason
	}

	/** Read by undici, which ignores a falsy reason and would send the request. */
	get reason(): unknown {
		return this.#signal.reason || undefined
	}

	addEventListener(_: 'abort', listener: () => void): void {
		// The first listener is the request's; an interceptor may add its own.
		if (this.#listener) this.#signal.addEventListener('abort', listener)
		else {
			this.#listener = listener
			this.#signal.addEventListener('abort', this)
		}
	}

	/** undici calls this when the body is closed, so that a long-lived signal does not collect listeners. */
	removeEventListener(_: 'abort', listener: () => void): void {
		this.#signal.removeEventListener('abort', listener === this.#listener ? this : listener)
	}

	/** Called when the signal is aborted. */
	handleEvent(): void {
		this.#reject?.(this.#signal.reason)
		this.#listener?.()
	}
}
