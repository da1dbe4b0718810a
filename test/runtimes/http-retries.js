/** `resilientFetch` against a server that fails and recovers: what is asked again, when, and what is told of it. */
import { explain } from 'yaoki'
import { resilientFetch, retryWithRetryAfter } from 'yaoki/http'
import { errorOf, isTrue, SHORT, same } from './checks.js'
import { story } from './stories.js'

/** The clocks of two processes, and timers that come a millisecond early, differ by no more than this. */
const A_SECOND = 990

export const tests = {
	async 'a 503 is asked again until it is none, and explain(response) tells of it'({ apiUrl }) {
		const { url, seen } = story(apiUrl, '503,503,200')
		const response = await resilientFetch(SHORT)(url)
		same(response.status, 200)
		same((await seen()).length, 3)
		const { attempts, stop } = explain(response)
		same(attempts.map(({ outcome }) => outcome).join(), 'throttled,throttled,success')
		same(stop, 'success')
	},

	async 'a response at the first try is explained as well'({ apiUrl }) {
		const told = explain(await resilientFetch()(story(apiUrl, '200').url))
		same(`${told.attempts.length} ${told.stop}`, '1 success')
	},

	async 'a 503 that stays is given out in the end, as fetch would, and can be read'({ apiUrl }) {
		const { url, seen } = story(apiUrl, '503')
		const response = await resilientFetch({ ...SHORT, maxRetries: 2 })(url)
		same(response.status, 503)
		same((await response.json()).method, 'GET')
		same((await seen()).length, 3)
		same(explain(response).stop, 'retries-exhausted')
	},

	async 'a 404 is an answer'({ apiUrl }) {
		const { url, seen } = story(apiUrl, '404,200')
		const response = await resilientFetch(SHORT)(url)
		same(response.status, 404)
		same((await seen()).length, 1)
		same(explain(response).stop, 'permanent')
	},

	async 'a veto of the server is heeded'({ apiUrl }) {
		const { url, seen } = story(apiUrl, 'veto,200')
		const response = await resilientFetch(SHORT)(url)
		same(explain(response).stop, 'server-veto')
		same((await seen()).length, 1)
	},

	async 'Retry-After is waited for in full, and by everybody who asks that origin'({ apiUrl }) {
		const busy = story(apiUrl, '503@1,200')
		const other = story(apiUrl, '200')
		let meanwhile
		const get = resilientFetch({
			...SHORT,
			onRetry: () => {
				meanwhile ??= get(other.url)
			},
		})
		const response = await get(busy.url)
		await meanwhile
		const [first, second] = await busy.seen()
		const [third] = await other.seen()
		isTrue(second.at - first.at >= A_SECOND, `asked again after ${second.at - first.at} ms`)
		isTrue(third.at - first.at >= A_SECOND, `somebody else asked after ${third.at - first.at} ms`)
		same(explain(response).attempts[0].delaySource, 'retry-after')
	},

	async 'a Retry-After that is too long ends the call at once'({ apiUrl }) {
		const { url, seen } = story(apiUrl, '503@120,200')
		const response = await resilientFetch(SHORT)(url)
		same(explain(response).stop, 'retry-after')
		same(response.headers.get('retry-after'), '120')
		same((await seen()).length, 1)
	},

	async 'retryWithRetryAfter does the same for any function that gives a response'({ apiUrl }) {
		const { url } = story(apiUrl, '429@0,503@0,200')
		const response = await retryWithRetryAfter(({ signal }) => fetch(url, { signal }))
		same(response.status, 200)
		const busy = story(apiUrl, '429@120').url
		const error = await errorOf(retryWithRetryAfter(() => fetch(busy)))
		same(`${error.name} ${error.statusCode} ${error.retryAfterMs}`, 'HttpError 429 120000')
	},

	async 'a server that keeps failing is left alone by the breaker of its origin'({ apiUrl, faultyUrl }) {
		const { url, seen } = story(apiUrl, '503')
		const get = resilientFetch({ maxRetries: 0, circuitBreaker: { failureThreshold: 2 } })
		for (const _ of [1, 2]) same((await get(url)).status, 503)
		const error = await errorOf(get(url))
		same(`${error.name} ${explain(error).stop}`, 'CircuitOpenError rejected')
		same((await seen()).length, 2)
		same((await get(story(faultyUrl, '200').url)).status, 200)
	},

	// The browser's cache holds a second GET of the same URL back until the first is answered, unless it is told to stay out of it.
	async 'a hedge answers for a server that hangs (in a page with no-store), and the loser is hung up on'({
		apiUrl,
	}) {
		const { url, gone } = story(apiUrl, 'hang,200')
		const response = await resilientFetch({ hedge: { delayMs: 20 } })(url, { cache: 'no-store' })
		same(response.status, 200)
		await gone()
		same((await response.json()).method, 'GET')
	},
}
