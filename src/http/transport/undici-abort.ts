/**
 * One request on its way, and what its signal means for it. undici hears an abort only once a connection has taken the
 * request up, so a call to a host that does not answer would be deaf to it for ten seconds; `fetch` is not. This stands
 * between the two: it looks enough like a signal for undici, holds the only listener on the real one, and rejects at once.
 */
import type { AbortListenable } from './transport.ts'
import type { UndiciResult } from './undici-module.ts'

export class UndiciAbort implements AbortListenable {
	readonly #signal: AbortSignal
	#reject: ((reason: unknown) => void) | undefined
	#listener: (() => void) | undefined

	constructor(signal: AbortSignal) {
		this.#signal = signal
	}

	/** The answer, or the signal's reason as soon as there is one. */
	answer(asked: Promise<UndiciResult>): Promise<UndiciResult> {
		return new Promise((resolve, reject) => {
			this.#reject = reject
			asked.then(resolve, reject)
		})
	}

	get isAborted(): boolean {
		return this.#signal.aborted
	}

	get cause(): unknown {
		return this.#signal.reason
	}

	// What follows is for undici. It has no `aborted`, or undici would hand it to Node as a real signal.
	get reason(): unknown {
		// One that is falsy counts for none with undici, which would then send the request all the same.
		return this.#signal.reason || undefined
	}

	addEventListener(_: 'abort', listener: () => void): void {
		// An interceptor may listen as well; there is room for the one of the request.
		if (this.#listener) this.#signal.addEventListener('abort', listener)
		else {
			this.#listener = listener
			this.#signal.addEventListener('abort', this)
		}
	}

	/** undici calls it when the body is closed, so that a long-lived signal gathers no listeners. */
	removeEventListener(_: 'abort', listener: () => void): void {
		this.#signal.removeEventListener('abort', listener === this.#listener ? this : listener)
	}

	/** The signal was aborted. */
	handleEvent(): void {
		this.#reject?.(this.#signal.reason)
		this.#listener?.()
	}
}
