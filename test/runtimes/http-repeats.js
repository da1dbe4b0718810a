/** Which requests are sent twice when a connection fails or a server does: by method, by key, by certainty that nothing arrived. */
import { explain } from 'yaoki'
import { resilientFetch } from 'yaoki/http'
import { errorOf, isNetworkFailure, SHORT, same } from './checks.js'
import { isPage, story } from './stories.js'

const POST = { method: 'POST', body: 'an order' }

/** A fetch that goes astray the first time, by way of the real one: what it throws is the runtime's own. */
function astray(firstUrl) {
	let calls = 0
	return (url, init) => fetch(calls++ === 0 ? firstUrl : url, init)
}

export const tests = {
	async 'a POST is not repeated'({ apiUrl }) {
		const { url, seen } = story(apiUrl, '503,200')
		const response = await resilientFetch(SHORT)(url, POST)
		same(response.status, 503)
		same(explain(response).stop, 'not-idempotent')
		same((await seen()).length, 1)
	},

	async 'a PUT and a DELETE are'({ apiUrl }) {
		for (const method of ['PUT', 'DELETE']) {
			const { url } = story(apiUrl, '503,200')
			same((await resilientFetch(SHORT)(url, { method })).status, 200, method)
		}
	},

	async 'a POST with a key is, with the same key'({ apiUrl }) {
		const { url, seen } = story(apiUrl, '503,409@0,200')
		const headers = { 'Idempotency-Key': 'order-7' }
		same((await resilientFetch(SHORT)(url, { ...POST, headers })).status, 200)
		same(
			(await seen()).map((request) => request.headers['idempotency-key']).join(),
			'order-7,order-7,order-7',
		)
	},

	async 'a key can be made for it, one for each call'({ apiUrl }) {
		const post = resilientFetch({ ...SHORT, idempotency: 'auto' })
		const keys = new Set()
		for (const _ of [1, 2]) {
			const { url, seen } = story(apiUrl, '503,200')
			same((await post(url, POST)).status, 200)
			const [first, second] = (await seen()).map((request) => request.headers['idempotency-key'])
			same(first, second)
			keys.add(first)
		}
		same(keys.size, 2)
	},

	async 'and so is one that the caller calls repeatable'({ apiUrl }) {
		const { url } = story(apiUrl, '503,200')
		same((await resilientFetch(SHORT)(url, { ...POST, yaoki: { idempotent: true } })).status, 200)
	},

	async 'a GET is repeated when nobody listens, and the last error is the runtime’s own'({
		deadUrl,
		apiUrl,
	}) {
		const { url } = story(apiUrl, '200')
		same((await resilientFetch({ ...SHORT, fetch: astray(deadUrl) })(url)).status, 200)
		const error = await errorOf(resilientFetch({ ...SHORT, maxRetries: 1 })(deadUrl))
		isNetworkFailure(error)
		same(`${error.name} ${explain(error).attempts.length}`, `${(await errorOf(fetch(deadUrl))).name} 2`)
	},

	async 'so is a POST, which can not have arrived (not in a page, which is not told why it failed)'({
		deadUrl,
		apiUrl,
	}) {
		const { url, seen } = story(apiUrl, '200')
		const post = resilientFetch({ ...SHORT, fetch: astray(deadUrl) })
		if (isPage) {
			same(explain(await errorOf(post(url, POST))).stop, 'not-idempotent')
			same((await seen()).length, 0)
		} else {
			same((await post(url, POST)).status, 200)
			same((await seen()).length, 1)
		}
	},

	async 'a GET is repeated when the connection breaks off'({ apiUrl }) {
		const { url } = story(apiUrl, '200')
		const { url: broken } = story(apiUrl, 'reset')
		const response = await resilientFetch({ ...SHORT, fetch: astray(broken) })(url)
		same(response.status, 200)
		same(explain(response).attempts.length, 2)
	},

	async 'a POST is not, for it may have arrived'({ apiUrl }) {
		const { url } = story(apiUrl, 'reset')
		const error = await errorOf(resilientFetch(SHORT)(url, POST))
		isNetworkFailure(error)
		same(explain(error).stop, 'not-idempotent')
		same(explain(error).attempts.length, 1)
	},

	async 'an answer that breaks off in the middle fails while it is read, as a network failure'({ apiUrl }) {
		const response = await resilientFetch(SHORT)(story(apiUrl, 'cut').url)
		same(response.status, 200)
		isNetworkFailure(await errorOf(response.text()))
	},

	async 'what is no URL is refused and not tried'() {
		const error = await errorOf(resilientFetch(SHORT)('http://'))
		same(error.name, 'TypeError')
	},
}
