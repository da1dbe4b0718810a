/**
 * What a browser knows about its own connection. While the device is offline every request fails, which says nothing about the servers.
 * Core reads no globals, so this is part of HTTP. Node, Deno and edge runtimes have no `navigator.onLine`: there nothing is ever offline.
 */

interface Browser {
	readonly navigator?: { readonly onLine?: unknown }
	addEventListener?(type: 'online', listener: () => void, options: { readonly once: boolean }): void
}

const browser = (): Browser => globalThis as unknown as Browser

/** Calls back when the device is online again after a request has failed. */
export class Connectivity {
	readonly #onOnline: () => void
	#isListening = false

	constructor(onOnline: () => void) {
		this.#onOnline = onOnline
	}

	/** Returns true if the device is offline. */
	isOffline(): boolean {
		return browser().navigator?.onLine === false
	}

	/**
	 * Waits for the next `online` event. Called after each failure without a response, because a browser may notice late that it is
	 * offline. One listener at most, which does not keep the client in memory.
	 */
	watch(): void {
		const { navigator, addEventListener } = browser()
		if (this.#isListening || typeof navigator?.onLine !== 'boolean' || !addEventListener) return
		this.#isListening = true
		const self = new WeakRef(this)
		addEventListener.call(globalThis, 'online', () => self.deref()?.onEvent(), { once: true })
	}

	onEvent(): void {
		this.#isListening = false
		this.#onOnline()
	}
}
