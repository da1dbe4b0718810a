/** What services tell each other in headers, read from web Requests; and Retry-After, which depends on the runtime's dates. */
import { retry } from 'yaoki'
import { parseRetryAfter, resilientFetch, serverContext, withServerContext } from 'yaoki/http'
import { errorOf, fail, isTrue, once, SHORT, same } from './checks.js'
import { isPage, story } from './stories.js'

const NOW = Date.UTC(1994, 10, 6, 8, 49, 0)

/** Half a minute and more after NOW, in all the ways that RFC 9110 has for it. */
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

/** A service that calls another, which is down, within the context of its own request. */
function serviceBefore(down) {
	const call = resilientFetch({ ...SHORT, maxRetries: 2, fetch: down })
	return withServerContext(async (_, within) => {
		const response = await call('http://127.0.0.1/', { yaoki: { within } })
		return new Response(null, { status: response.status })
	})
}

export const tests = {
	'Retry-After means the same everywhere, whatever dates the runtime would take'() {
		for (const [value, ms] of WAITS) same(parseRetryAfter(value, NOW), ms, `for '${value}'`)
	},

	async 'a request tells the server how much time is left, and which attempt it is'({ faultyUrl }) {
		const { url, seen } = story(faultyUrl, '503,200')
		await resilientFetch({ ...SHORT, totalTimeoutMs: 5_000 })(url)
		const [first, second] = (await seen()).map(({ headers }) => headers)
		const leftMs = Number(second['x-request-timeout-ms'])
		isTrue(leftMs > 0 && leftMs <= 5_000, `${leftMs} ms left`)
		same(`${first['x-retry-attempt']} ${second['x-retry-attempt']}`, 'undefined 1')
	},

	async 'a page tells other origins only what it was asked to, since they would have to allow it'({
		apiUrl,
	}) {
		const told = async (options) => {
			const { url, seen } = story(apiUrl, '200')
			await resilientFetch(options)(url)
			return 'x-request-timeout-ms' in (await seen())[0].headers
		}
		same(await told({}), !isPage)
		same(await told({ deadlineHeader: 'x-request-timeout-ms' }), true)
		same(await told({ deadlineHeader: false }), false)
	},

	'a server reads them from a web Request'() {
		const context = serverContext(requestWith({ 'x-request-timeout-ms': '4000', 'x-retry-attempt': '2' }))
		isTrue(context.deadline.remainingMs > 0 && context.deadline.remainingMs <= 4_000, 'not the deadline')
		same(`${context.attempt} ${context.isExpired}`, '2 false')
		context.end()
		same(serverContext(requestWith({})).deadline, undefined)
		const late = serverContext(requestWith({ 'grpc-timeout': '0m' }))
		same(late.isExpired, true)
		late.end()
	},

	async 'the work of a request is aborted when its client goes away'() {
		const controller = new AbortController()
		const context = serverContext(requestWith({}, { signal: controller.signal }))
		const aborted = once(context.signal, 'abort')
		controller.abort(new Error('gone'))
		await aborted
		same(context.signal.aborted, true)
	},

	async 'a retry inside leaves it to the outermost where the caller says so'() {
		let calls = 0
		const down = () => {
			calls++
			fail('ECONNREFUSED')
		}
		const within = serverContext(requestWith({ 'x-retry-layer': 'outermost' }))
		await errorOf(retry(SHORT).execute(down, within))
		same(calls, 1)
	},

	async 'a request that comes too late is answered with 504, without the handler'() {
		let calls = 0
		const handle = withServerContext(() => new Response(`${++calls}`))
		const response = await handle(requestWith({ 'x-request-timeout-ms': '0' }))
		same(`${response.status} ${response.headers.get('content-type')} ${calls}`, '504 application/json 0')
	},

	async 'three services in a row, the last one down: it is called three times and not nine'() {
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
