/** Headers between services, read from web Requests; and Retry-After, which depends on the date parser of the runtime. */
import { retry } from 'yaoki'
import { createServerContext, fetchServerContext, parseRetryAfter, resilientFetch } from 'yaoki/http'
import { errorOf, fail, isTrue, once, SHORT, same } from './checks.js'
import { isPage, story } from './stories.js'

const NOW = Date.UTC(1994, 10, 6, 8, 49, 0)

/** Half a minute and more after NOW, in all formats of RFC 9110. */
const WAITS = [
	['120', 120_000],
	['\t 7 ', 7_000],
	['0', 0],
	['1, 3', 3_000],
	['99999999999', 99_999_999_999_000],
	['Sun, 06 Nov 1994 08:49:37 GMT', 37_000],
	['Sunday, 06-Nov-94 08:49:37 GMT', 37_000],
	['Sun Nov  6 08:49:37 1994', 37_000],
	['Sun, 06 Nov 1994 08:49:60 GMT', 60_000],
	['Sat, 05 Nov 1994 08:49:37 GMT', 0],
	['-1', undefined],
	['1e3', undefined],
	['0x10', undefined],
	['1.5', undefined],
	['', undefined],
	[null, undefined],
	['7, Sun, 06 Nov 1994 08:49:37 GMT', undefined],
	['Sun, 06 Nov 1994 08:49:37 +0900', undefined],
	['1994-11-06T08:49:37Z', undefined],
]

const requestWith = (headers, init) => new Request('http://127.0.0.1/', { headers, ...init })

/** A service that calls a failing one in the context of its own request. */
function serviceBefore(down) {
	const call = resilientFetch({ ...SHORT, maxRetries: 2, fetch: down })
	return fetchServerContext(async (_, parent) => {
		const response = await call('http://127.0.0.1/', { yaoki: { parent } })
		return new Response(null, { status: response.status })
	})
}

export const tests = {
	'parses Retry-After the same everywhere'() {
		for (const [value, ms] of WAITS) same(parseRetryAfter(value, NOW), ms, `for '${value}'`)
	},

	async 'sends the remaining time and the attempt to the server'({ faultyUrl }) {
		const { url, seen } = story(faultyUrl, '503,200')
		await resilientFetch({ ...SHORT, totalTimeoutMs: 5_000 })(url)
		const [first, second] = (await seen()).map(({ headers }) => headers)
		const leftMs = Number(second['x-request-timeout-ms'])
		isTrue(leftMs > 0 && leftMs <= 5_000, `${leftMs} ms left`)
		same(`${first['x-retry-attempt']} ${second['x-retry-attempt']}`, 'undefined 1')
	},

	async 'a page sends headers to other origins only if asked to, because of CORS'({ apiUrl }) {
		const isSent = async (options) => {
			const { url, seen } = story(apiUrl, '200')
			await resilientFetch(options)(url)
			return 'x-request-timeout-ms' in (await seen())[0].headers
		}
		same(await isSent({}), !isPage)
		same(await isSent({ deadlineHeader: 'x-request-timeout-ms' }), true)
		same(await isSent({ deadlineHeader: false }), false)
	},

	'reads them from a web Request'() {
		const context = createServerContext(
			requestWith({ 'x-request-timeout-ms': '4000', 'x-retry-attempt': '2' }),
		)
		isTrue(context.deadline.remainingMs > 0 && context.deadline.remainingMs <= 4_000, 'not the deadline')
		same(`${context.attempt} ${context.isExpired}`, '2 false')
		context.end()
		same(createServerContext(requestWith({})).deadline, undefined)
		const late = createServerContext(requestWith({ 'grpc-timeout': '0m' }))
		same(late.isExpired, true)
		late.end()
	},

	async 'aborts the operation when the client disconnects'() {
		const controller = new AbortController()
		const context = createServerContext(requestWith({}, { signal: controller.signal }))
		const aborted = once(context.signal, 'abort')
		controller.abort(new Error('gone'))
		await aborted
		same(context.signal.aborted, true)
	},

	async 'an inner retry leaves retries to the outermost service if the caller asks for it'() {
		let calls = 0
		const down = () => {
			calls++
			fail('ECONNREFUSED')
		}
		const parent = createServerContext(requestWith({ 'x-retry-layer': 'outermost' }))
		await errorOf(retry(SHORT).execute(down, parent))
		same(calls, 1)
	},

	async 'responds with 504 to a request beyond its deadline, without the handler'() {
		let calls = 0
		const handle = fetchServerContext(() => new Response(`${++calls}`))
		const response = await handle(requestWith({ 'x-request-timeout-ms': '0' }))
		same(`${response.status} ${response.headers.get('content-type')} ${calls}`, '504 application/json 0')
	},

	async 'calls the last of three services three times and not nine'() {
		let calls = 0
		const down = async () => {
			calls++
			return new Response(null, { status: 503 })
		}
		const handle = serviceBefore(down)
		const call = resilientFetch({
			...SHORT,
			maxRetries: 2,
			fetch: (url, init) => handle(new Request(url, init)),
		})
		const response = await call('http://127.0.0.1/')
		same(`${response.status} ${response.headers.get('x-retries-exhausted')} ${calls}`, '503 true 3')
	},
}
