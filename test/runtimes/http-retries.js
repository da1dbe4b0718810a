/** `resilientFetch` with a server that fails and recovers: what is retried, when, and the explanation. */
import { explain } from 'yaoki'
import { resilientFetch, retryWithRetryAfter } from 'yaoki/http'
import { errorOf, isTrue, SHORT, same } from './checks.js'
import { story } from './stories.js'

/** Tolerance for the clocks of two processes, and for timers that fire early. */
const A_SECOND = 990

export const tests = {
	async 'retries a 503 until it succeeds, and explains the attempts'({ apiUrl }) {
		const { url, seen } = story(apiUrl, '503,503,200')
		const response = await resilientFetch(SHORT)(url)
		same(response.status, 200)
		same((await seen()).length, 3)
		const { attempts, stop } = explain(response)
		same(attempts.map(({ outcome }) => outcome).join(), 'throttled,throttled,success')
		same(stop, 'success')
	},

	async 'explains a response of the first attempt'({ apiUrl }) {
		const explanation = explain(await resilientFetch()(story(apiUrl, '200').url))
		same(`${explanation.attempts.length} ${explanation.stop}`, '1 success')
	},

	async 'returns the last 503 with its body when retries are exhausted'({ apiUrl }) {
		const { url, seen } = story(apiUrl, '503')
		const response = await resilientFetch({ ...SHORT, maxRetries: 2 })(url)
		same(response.status, 503)
		same((await response.json()).method, 'GET')
		same((await seen()).length, 3)
		same(explain(response).stop, 'retries-exhausted')
	},

	async 'returns a 404'({ apiUrl }) {
		const { url, seen } = story(apiUrl, '404,200')
		const response = await resilientFetch(SHORT)(url)
		same(response.status, 404)
		same((await seen()).length, 1)
		same(explain(response).stop, 'permanent')
	},

	async 'honors a retry veto of the server'({ apiUrl }) {
		const { url, seen } = story(apiUrl, 'veto,200')
		const response = await resilientFetch(SHORT)(url)
		same(explain(response).stop, 'server-veto')
		same((await seen()).length, 1)
	},

	async 'honors Retry-After for all requests to the origin'({ apiUrl }) {
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
		isTrue(second.at - first.at >= A_SECOND, `retried after ${second.at - first.at} ms`)
		isTrue(third.at - first.at >= A_SECOND, `another caller asked after ${third.at - first.at} ms`)
		same(explain(response).attempts[0].delaySource, 'retry-after')
	},

	async 'ends the call immediately if Retry-After is too long'({ apiUrl }) {
		const { url, seen } = story(apiUrl, '503@120,200')
		const response = await resilientFetch(SHORT)(url)
		same(explain(response).stop, 'retry-after')
		same(response.headers.get('retry-after'), '120')
		same((await seen()).length, 1)
	},

	async 'retryWithRetryAfter honors it for any function that returns a response'({ apiUrl }) {
		const { url } = story(apiUrl, '429@0,503@0,200')
		const response = await retryWithRetryAfter(({ signal }) => fetch(url, { signal }))
		same(response.status, 200)
		const busy = story(apiUrl, '429@120').url
		const error = await errorOf(retryWithRetryAfter(() => fetch(busy)))
		same(`${error.name} ${error.statusCode} ${error.retryAfterMs}`, 'HttpError 429 120000')
	},

	async 'opens the circuit of an origin that keeps failing'({ apiUrl, faultyUrl }) {
		const { url, seen } = story(apiUrl, '503')
		const get = resilientFetch({ maxRetries: 0, circuitBreaker: { failureThreshold: 2 } })
		for (const _ of [1, 2]) same((await get(url)).status, 503)
		const error = await errorOf(get(url))
		same(`${error.name} ${explain(error).stop}`, 'CircuitOpenError rejected')
		same((await seen()).length, 2)
		same((await get(story(faultyUrl, '200').url)).status, 200)
	},

	// The cache of a browser delays a second GET of the same URL until the first has its response, except with no-store.
	async 'a hedge responds for a server that hangs (in a page with no-store), and the other request is cancelled'({
		apiUrl,
	}) {
		const { url, gone } = story(apiUrl, 'hang,200')
		const response = await resilientFetch({ hedge: { delayMs: 20 } })(url, { cache: 'no-store' })
		same(response.status, 200)
		await gone()
		same((await response.json()).method, 'GET')
	},
}
