/**
 * What a browser knows about its page and its connection. Core reads no globals, so this is part of HTTP.
 * Node, Deno and edge runtimes have no `location` and no `navigator.onLine`: there nothing is ever offline.
 */

interface Page {
	readonly href?: string
	readonly origin?: string
	readonly protocol?: string
}

interface Browser {
	readonly location?: Page
	readonly navigator?: { readonly onLine?: unknown }
	addEventListener?(type: 'online', listener: () => void, options: { readonly once: boolean }): void
}

const browser = (): Browser => globalThis as unknown as Browser

/** Returns the location of the page in a browser: relative URLs and cross-origin rules depend on it. */
export const page = (): Page | undefined => browser().location

/** Returns true if the device is offline. */
export const isOffline = (): boolean => browser().navigator?.onLine === false

/**
 * Calls `listener.onOnline` at the next `online` event, and does not keep the listener in memory. Returns
 * false if the runtime has no such event.
 */
export function listenOnline(listener: { onOnline(): void }): boolean {
	const { navigator, addEventListener } = browser()
	if (typeof navigator?.onLine !== 'boolean' || !addEventListener) return false
	const weak = new WeakRef(listener)
	addEventListener.call(globalThis, 'online', () => weak.deref()?.onOnline(), { once: true })
	return true
}
