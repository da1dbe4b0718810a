interface Globals {
	readonly navigator?: { readonly userAgent?: string }
}

/** True on Cloudflare Workers, where timers and promises end with their request. `WebSocketPair` exists with every compatibility date, `navigator.userAgent` does not. */
export const isWorkers = (): boolean =>
	'WebSocketPair' in globalThis || (globalThis as Globals).navigator?.userAgent === 'Cloudflare-Workers'
