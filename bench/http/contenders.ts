/**
 * The measured clients. Each sends a GET and reads the body as text. Each is imported only where it runs: undici,
 * once loaded, replaces the dispatcher of Node's own fetch.
 */

/** Everything on: breaker, bulkhead, retry, both timeouts and a budget. */
const ALL = {
	timeout: 10_000,
	totalTimeoutMs: 30_000,
	maxRetries: 3,
	circuitBreaker: { failureThreshold: 5 },
	bulkhead: { maxConcurrent: 100, maxQueue: 500 },
	budget: { maxRetryRatio: 0.1 },
} as const

type Get = (url: string) => Promise<unknown>

export const CONTENDERS: Readonly<Record<string, () => Promise<Get>>> = {
	fetch: async () => async (url) => (await fetch(url)).text(),
	// The cost of every timeout with a signal: a fetch cannot be ended without one.
	'fetch with a signal': async () => async (url) =>
		(await fetch(url, { signal: new AbortController().signal })).text(),
	// The least that a client on fetch sends to end requests in time, to see redirects and to pass on its deadline.
	'fetch: signal, manual, one header': async () => async (url) => {
		const { signal } = new AbortController()
		const headers = { 'x-request-timeout-ms': '10000' }
		return (await fetch(url, { signal, redirect: 'manual', headers })).text()
	},
	'undici request': async () => {
		const { request } = await import('undici')
		return async (url) => (await request(url)).body.text()
	},
	'yaoki resilientFetch': async () => {
		const { resilientFetch } = await import('yaoki/http')
		const call = resilientFetch(ALL)
		return async (url) => (await call(url)).text()
	},
	'yaoki client': async () => {
		const { ResilientHttpClient } = await import('yaoki/http')
		const client = new ResilientHttpClient(ALL)
		return async (url) => (await client.request(url)).text()
	},
	'undici request with yaoki interceptor': async () => {
		const [{ undiciInterceptor }, { Agent, request }] = await Promise.all([
			import('yaoki/http'),
			import('undici'),
		])
		const dispatcher = new Agent().compose(undiciInterceptor(ALL))
		return async (url) => (await request(url, { dispatcher })).body.text()
	},
	'undici request with RetryAgent': async () => {
		const { Agent, RetryAgent, request } = await import('undici')
		const dispatcher = new RetryAgent(new Agent(), { maxRetries: 3 })
		return async (url) => (await request(url, { dispatcher })).body.text()
	},
	'ky 2': async () => {
		const { default: ky } = await import('ky')
		return (url) => ky(url).text()
	},
	'got 16': async () => {
		const { default: got } = await import('got')
		return (url) => got(url).text()
	},
	'axios + axios-retry': async () => {
		const [{ default: axios }, { default: axiosRetry }] = await Promise.all([
			import('axios'),
			import('axios-retry'),
		])
		const client = axios.create({ timeout: 10_000 })
		axiosRetry(client, { retries: 3 })
		return async (url) => (await client.get(url, { responseType: 'text' })).data
	},
	'fetch in cockatiel 4': async () => {
		const {
			bulkhead,
			circuitBreaker,
			ConsecutiveBreaker,
			ExponentialBackoff,
			handleAll,
			retry,
			timeout,
			TimeoutStrategy,
			wrap,
		} = await import('cockatiel')
		const policy = wrap(
			bulkhead(100, 500),
			circuitBreaker(handleAll, { breaker: new ConsecutiveBreaker(5), halfOpenAfter: 30_000 }),
			retry(handleAll, { maxAttempts: 3, backoff: new ExponentialBackoff() }),
			timeout(10_000, TimeoutStrategy.Cooperative),
		)
		// Innermost, because it aborts its signal when the operation has completed.
		return (url) => policy.execute(async ({ signal }) => (await fetch(url, { signal })).text())
	},
}
