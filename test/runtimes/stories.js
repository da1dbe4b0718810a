/** The client of scripts/runtimes/stories.ts: URLs that script the responses, and the requests that the server received. */

/** Created on first use: a Worker creates no random values outside a request. */
let run
let count = 0

/**
 * `story(apiUrl, '503,200')`: the first request to its `url` gets 503, all others 200 with the received request as JSON. `503@1` adds
 * `Retry-After: 1`. `hang`, `reset`, `cut` and `stall` are other failures.
 */
export function story(origin, steps) {
	run ??= crypto.randomUUID()
	const id = `${run}-${++count}`
	const ask = async (what) => (await fetch(`${origin}/${what}/${id}`)).json()
	return {
		url: `${origin}/story/${id}/${steps}`,
		/** All requests so far, in the order of arrival. */
		seen: () => ask('seen'),
		/** Resolves when the server has received the first request. */
		arrived: () => ask('arrived'),
		/** Resolves when a client has disconnected before the end of the response. */
		gone: () => ask('gone'),
	}
}

/** CORS limits what a page may send. */
export const isPage = 'document' in globalThis
/** The `fetch` of a Worker throws a copy of the abort reason. */
export const isWorker = 'WebSocketPair' in globalThis
/** Neither a page nor a Worker sees why a connection failed. */
export const isConnectFailureKnown = !isPage && !isWorker
