/**
 * Aborts an attempt when the caller aborts, until the body of its response has been read. `AbortSignal.any` needs no end, but a listener
 * on its signal, which some `fetch` implementations leave there, keeps that signal alive for as long as the caller's.
 */
import type { SignalLink } from '../../core/engine/scope.ts'
import { createRegistry } from '../../core/runtime/collected.ts'

export class CallerLink {
	readonly #signal: AbortSignal
	readonly #link: SignalLink

	constructor(signal: AbortSignal, link: SignalLink) {
		this.#signal = signal
		this.#link = link
		if (signal.aborted) this.handleEvent()
		else signal.addEventListener('abort', this)
	}

	/** Called when the caller's signal is aborted. */
	handleEvent(): void {
		this.#link.abort?.(this.#signal.reason)
	}

	unlink(): void {
		this.#signal.removeEventListener('abort', this)
	}

	/** Unlinks when a stream that the caller reads, and whose end is not visible here, is no longer used. */
	unlinkAfter(stream: object): void {
		streams ??= createRegistry((link) => link.unlink())
		streams?.register(stream, this)
	}
}

let streams: FinalizationRegistry<CallerLink> | undefined
