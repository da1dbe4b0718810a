/**
 * What a browser knows about its own connection. While the device is offline every request fails, which says nothing about the servers.
 * Core reads no globals, so this is part of HTTP. Node, Deno and edge runtimes have no `navigator.onLine`: there nothing is ever offline.
 */

interface Browser {
	readonly navigator?: { readonly onLine?: unknown }
	addEventListener?(type: 'online', listener: () => void, options: { readonly once: boolean }): void
}

const browser = (): Browser => globalThis as unknown as Browser

/** Returns true if the device is offline. */
export const isOffline = (): boolean => browser().navigator?.onLine === false

/**
 * Calls `listener.onOnline` at the next `online` event, and does not keep the listener in memory. Returns false if the runtime has no such
 * event.
 */
export function listenOnline(listener: { onOnline(): void }): boolean {
	const { navigator, addEventListener } = browser()
	if (typeof navigator?.onLine !== 'boolean' || !addEventListener) return false
	const weak = new WeakRef(listener)
	addEventListener.call(globalThis, 'online', () => weak.deref()?.onOnline(), { once: true })
	return true
}
