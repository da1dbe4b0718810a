/**
 * Which responses are stored. A stored response is final for the key, so only those are stored that a repetition would produce again: the
 * effect (2xx, 3xx), or a request that can never succeed. The others say something about the moment: who the caller was, how busy the server was, or
 * that it failed.
 */

const NOT_STORED: ReadonlySet<number> = new Set([401, 403, 408, 409, 425, 429])

export const isStoredByDefault = (status: number): boolean =>
	status >= 200 && status < 500 && !NOT_STORED.has(status)
