/** The suite's side of scripts/runtimes/stories.ts: a URL that is a script, and what its server has seen. */

const run = crypto.randomUUID()
let told = 0

/**
 * `story(apiUrl, '503,200')`: the first request to its `url` is answered with 503, all others with 200 and, as JSON, with what
 * arrived. `503@1` says Retry-After: 1. `hang`, `reset`, `cut` and `stall` are a server's ways to fail.
 */
export function story(origin, steps) {
	const id = `${run}-${++told}`
	const ask = async (what) => (await fetch(`${origin}/${what}/${id}`)).json()
	return {
		url: `${origin}/story/${id}/${steps}`,
		/** Every request so far, in the order in which they arrived. */
		seen: () => ask('seen'),
		/** Answers once somebody has gone away without waiting for the whole answer. */
		gone: () => ask('gone'),
	}
}

/** A page is not told why there was no connection, nor may it send what it likes to other origins. */
export const isPage = 'document' in globalThis
