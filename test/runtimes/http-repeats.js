/** Which requests are repeated: by method, by idempotency key, and by certainty that nothing arrived. */
import { explain } from 'yaoki'
import { resilientFetch } from 'yaoki/http'
import { errorOf, isNetworkFailure, SHORT, same } from './checks.js'
import { isConnectFailureKnown, story } from './stories.js'

const POST = { method: 'POST', body: 'an order' }

/** A fetch whose first call goes to a closed port, so that it throws the error of the runtime. */
function astray(firstUrl) {
	let calls = 0
	return (url, init) => fetch(calls++ === 0 ? firstUrl : url, init)
}

export const tests = {
	async 'does not repeat a POST'({ apiUrl }) {
		const { url, seen } = story(apiUrl, '503,200')
		const response = await resilientFetch(SHORT)(url, POST)
		same(response.status, 503)
		same(explain(response).stop, 'not-idempotent')
		same((await seen()).length, 1)
	},

	async 'repeats a PUT and a DELETE'({ apiUrl }) {
		for (const method of ['PUT', 'DELETE']) {
			const { url } = story(apiUrl, '503,200')
			same((await resilientFetch(SHORT)(url, { method })).status, 200, method)
		}
	},

	async 'repeats a POST with its idempotency key'({ apiUrl }) {
		const { url, seen } = story(apiUrl, '503,409@0,200')
		const headers = { 'Idempotency-Key': 'order-7' }
		same((await resilientFetch(SHORT)(url, { ...POST, headers })).status, 200)
		same(
			(await seen()).map((request) => request.headers['idempotency-key']).join(),
			'order-7,order-7,order-7',
		)
	},

	async 'creates an idempotency key for each call'({ apiUrl }) {
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

	async 'repeats a POST that the caller declares idempotent'({ apiUrl }) {
		const { url } = story(apiUrl, '503,200')
		same((await resilientFetch(SHORT)(url, { ...POST, yaoki: { idempotent: true } })).status, 200)
	},

	async 'repeats a GET if the connection is refused, and throws the error of the runtime'({
		deadUrl,
		apiUrl,
	}) {
		const { url } = story(apiUrl, '200')
		same((await resilientFetch({ ...SHORT, fetch: astray(deadUrl) })(url)).status, 200)
		const error = await errorOf(resilientFetch({ ...SHORT, maxRetries: 1 })(deadUrl))
		isNetworkFailure(error)
		same(`${error.name} ${explain(error).attempts.length}`, `${(await errorOf(fetch(deadUrl))).name} 2`)
	},

	async 'repeats a POST that cannot have arrived (not in a page or a Worker, which do not know why it failed)'({
		deadUrl,
		apiUrl,
	}) {
		const { url, seen } = story(apiUrl, '200')
		const post = resilientFetch({ ...SHORT, fetch: astray(deadUrl) })
		if (isConnectFailureKnown) {
			same((await post(url, POST)).status, 200)
			same((await seen()).length, 1)
		} else {
			same(explain(await errorOf(post(url, POST))).stop, 'not-idempotent')
			same((await seen()).length, 0)
		}
	},

	async 'repeats a GET if the connection breaks'({ apiUrl }) {
		const { url } = story(apiUrl, '200')
		const { url: broken } = story(apiUrl, 'reset')
		const response = await resilientFetch({ ...SHORT, fetch: astray(broken) })(url)
		same(response.status, 200)
		same(explain(response).attempts.length, 2)
	},

	async 'does not repeat a POST that may have arrived'({ apiUrl }) {
		const { url } = story(apiUrl, 'reset')
		const error = await errorOf(resilientFetch(SHORT)(url, POST))
		isNetworkFailure(error)
		same(explain(error).stop, 'not-idempotent')
		same(explain(error).attempts.length, 1)
	},

	async 'a response that breaks in the middle fails as a network error while it is read'({ apiUrl }) {
		const response = await resilientFetch(SHORT)(story(apiUrl, 'cut').url)
		same(response.status, 200)
		isNetworkFailure(await errorOf(response.text()))
	},

	async 'rejects an invalid URL without an attempt'() {
		const error = await errorOf(resilientFetch(SHORT)('http://'))
		same(error.name, 'TypeError')
	},
}
