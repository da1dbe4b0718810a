/** `ResilientHttpClient` with the fetch of the runtime: errors with bodies, cached responses in an outage, stats. */
import { explain } from 'yaoki'
import { HttpError, isCachedResponse, ResilientHttpClient } from 'yaoki/http'
import { errorOf, isNetworkFailure, isTrue, SHORT, SKIPPED, same } from './checks.js'
import { story } from './stories.js'

/** The first failure opens the circuit for a long time. */
const fragile = () =>
	new ResilientHttpClient({ cache: true, maxRetries: 0, circuitBreaker: { failureThreshold: 1 } })

export const tests = {
	async 'returns a 2xx after retries'({ apiUrl }) {
		const client = new ResilientHttpClient(SHORT)
		const response = await client.get(story(apiUrl, '503,200').url)
		isTrue(response instanceof Response, 'no Response')
		same((await response.json()).method, 'GET')
		same(explain(response).attempts.length, 2)
	},

	async 'throws an HttpError with the body for other statuses'({ apiUrl }) {
		const client = new ResilientHttpClient(SHORT)
		const error = await errorOf(client.get(story(apiUrl, '404@7').url))
		isTrue(error instanceof HttpError, `${error}`)
		same(`${error.statusCode} ${JSON.parse(error.body).method} ${error.retryAfterMs}`, '404 GET 7000')
		same(error.response.headers.get('content-type'), 'application/json')
	},

	async 'sends JSON'({ apiUrl }) {
		const { url, seen } = story(apiUrl, '503,200')
		await new ResilientHttpClient(SHORT).put(url, { json: { a: 'ü' } })
		same(
			(await seen()).map(({ type, bytes }) => `${type} ${bytes}`).join(),
			'application/json 10,application/json 10',
		)
	},

	async 'does not open the circuit while the browser is offline'({ apiUrl, setOffline }) {
		if (!setOffline) return SKIPPED
		const { url, seen } = story(apiUrl, '200')
		const client = new ResilientHttpClient({ maxRetries: 0, circuitBreaker: { failureThreshold: 1 } })
		await setOffline(true)
		try {
			for (let call = 0; call < 5; call++) isNetworkFailure(await errorOf(client.get(url)))
		} finally {
			await setOffline(false)
		}
		same((await client.get(url)).status, 200)
		same((await seen()).length, 1)
	},

	async 'returns the last good response while the circuit is open, marked as cached'({ apiUrl }) {
		const { url, seen } = story(apiUrl, '200,503')
		const client = fragile()
		const fresh = await client.get(url)
		same(isCachedResponse(fresh), false)
		const first = await fresh.text()
		same((await errorOf(client.get(url))).statusCode, 503)
		const kept = await client.get(url)
		isTrue(kept instanceof Response, 'no Response')
		same(isCachedResponse(kept), true)
		same(kept.url, url)
		same(await kept.text(), first)
		isTrue(/^\d+$/.test(kept.headers.get('age')), 'no age')
		isTrue(kept.headers.get('cache-status').startsWith('yaoki; hit'), kept.headers.get('cache-status'))
		same(explain(kept).stop, 'fallback')
		same((await seen()).length, 2)
	},

	async 'never returns the cached response of other credentials'({ apiUrl }) {
		const { url } = story(apiUrl, '200,503')
		const client = fragile()
		const as = (who) => ({ headers: { authorization: who } })
		await client.get(url, as('Ana'))
		await errorOf(client.get(url, as('Ana')))
		same((await client.get(url, as('Ana'))).status, 200)
		same((await errorOf(client.get(url, as('Ben')))).name, 'CircuitOpenError')
		same((await errorOf(client.get(url))).name, 'CircuitOpenError')
	},

	async 'counts requests for each origin'({ apiUrl, faultyUrl }) {
		const client = new ResilientHttpClient(SHORT)
		await client.get(story(apiUrl, '503,200').url)
		await errorOf(client.get(story(faultyUrl, '404').url))
		const { requests, failures, attempts, origins } = client.stats
		same(`${requests} ${failures} ${attempts}`, '2 1 3')
		same(Object.keys(origins).sort().join(), [apiUrl, faultyUrl].sort().join())
		same(origins[apiUrl].circuit.state, 'closed')
		same(origins[apiUrl].inFlight, 0)
	},
}
