/** Common mistakes: each error message names the value, the option path, and what is valid. */
import { describe, expect, test } from 'vitest'
import { bulkhead, circuitBreaker, hedge, retry } from 'yaoki'
import { FINE, failure, fetching, optionError, setup } from './setup.ts'

/** Values that untyped callers may pass. */
const untyped = (value: unknown): never => value as never

describe('a timeout', () => {
	const TAKES = 'a number above 0 (milliseconds) or Infinity'

	test.each([
		['5000', '"5000"'],
		[-1, '-1'],
		[Number.NaN, 'NaN'],
		[0, '0'],
		[null, 'null'],
	])('a timeout of %j is rejected with the right option path', async (value, shown) => {
		const { fetch, url, server } = await setup(FINE)
		for (const name of ['timeout', 'totalTimeoutMs']) {
			expect(optionError({ [name]: value }).message).toBe(
				`Invalid option "${name}": expected ${TAKES}, got ${shown}`,
			)
			const error = await failure(fetch(url, { yaoki: untyped({ [name]: value }) }))
			expect(error.message).toBe(`Invalid option "yaoki.${name}": expected ${TAKES}, got ${shown}`)
		}
		expect(server.connections.opened).toBe(0)
	})

	test('can be Infinity', async () => {
		const { fetch, url } = await setup(FINE, { timeout: Infinity, totalTimeoutMs: Infinity })
		const yaoki = { timeout: Infinity, totalTimeoutMs: Infinity }
		expect((await fetch(url, { yaoki })).status).toBe(200)
	})
})

describe('a URL with another scheme', () => {
	test.each([
		['localhost:3000/x', 'localhost:', 'http://localhost:3000/x'],
		['api.example.com:8080', 'api.example.com:', 'http://api.example.com:8080'],
		['ftp://example.com/', 'ftp:', 'https://example.com/path'],
		['mailto:example.com', 'mailto:', 'https://example.com/path'],
		['htps://example.com/', 'htps:', 'https://example.com/path'],
	])('%s is rejected before fetch is called', async (url, scheme, meant) => {
		const sent: unknown[] = []
		const { fetch } = fetching({
			fetch: async (input) => {
				sent.push(input)
				return new Response()
			},
		})
		for (const given of [url, new URL(url), new Request(url)]) {
			const error = await failure(fetch(given))
			expect(error).toBeInstanceOf(TypeError)
			expect(error.message).toMatch(
				new RegExp(`^Invalid URL '${url}/?': unsupported scheme '${scheme}'.* for example '${meant}/?'$`),
			)
		}
		expect(sent).toEqual([])
	})

	test('is shortened in the message if it is long', async () => {
		const error = await failure(fetching().fetch(`ftp://example.com/${'x'.repeat(100_000)}`))
		expect(error.message.length).toBeLessThan(500)
	})

	test('a URL with another scheme of data: and blob: works as with fetch', async () => {
		const { fetch } = fetching()
		expect(await (await fetch('data:text/plain,hello')).text()).toBe('hello')
		const url = URL.createObjectURL(new Blob(['kept']))
		expect(await (await fetch(url)).text()).toBe('kept')
	})

	test('a URL with another scheme of file: is left to fetch, which serves it in some runtimes', async () => {
		const { fetch } = fetching({ fetch: async () => new Response('a file') })
		expect(await (await fetch('file:///etc/hosts')).text()).toBe('a file')
	})

	test('a URL with another scheme of the page itself is left to fetch: apps and extensions have schemes of their own', async () => {
		const { fetch } = fetching({ fetch: async () => new Response('a page') })
		const page = new URL('app://localhost/index.html')
		Object.defineProperty(globalThis, 'location', { value: page, configurable: true })
		try {
			expect(await (await fetch('/users')).text()).toBe('a page')
			expect(await failure(fetch('other://localhost/'))).toBeInstanceOf(TypeError)
		} finally {
			Reflect.deleteProperty(globalThis, 'location')
		}
	})
})

describe('an option of a policy', () => {
	test.each([
		['circuitBreaker.failureThreshold', { circuitBreaker: { failureThreshold: 0 } }],
		['circuitBreaker.threshold', { circuitBreaker: { threshold: 5 } }],
		['bulkhead.maxConcurrent', { bulkhead: { maxConcurrent: 0 } }],
		['budget.maxRetryRatio', { budget: { maxRetryRatio: -1 } }],
		['budget.ratio', { budget: { ratio: 0.1 } }],
		['hedge.percentile', { hedge: { percentile: 101 } }],
	])(
		'is rejected by its path (%s) when the fetch is created, not with the first request',
		(name, options) => {
			const error = optionError(options)
			expect(error).toMatchObject({ name: 'InvalidOptionError', optionPath: name })
			expect(error.message).toContain(`option "${name}"`)
			expect(error.stack).toContain(error.message)
		},
	)

	test.each([
		['circuitBreaker', circuitBreaker({})],
		['bulkhead', bulkhead()],
		['hedge', hedge()],
		['budget', retry()],
	])('rejects a policy as %s: all origins would share it', (name, policy) => {
		expect(optionError({ [name]: policy }).message).toBe(
			`Invalid option "${name}": expected an options object, not a policy, got [object Object]`,
		)
	})
})

describe('a function as an invalid value', () => {
	const secret = () => 'the source of this'

	test.each([
		['timeout', { timeout: secret }],
		['maxRetries', { maxRetries: secret }],
		['retries', { retries: secret }],
		['nested', { nested: secret }],
		['hedge', { hedge: secret }],
		['retryVetoHeaders', { retryVetoHeaders: secret }],
		['idempotencyHeader', { idempotencyHeader: secret }],
		['circuitBreaker.failureThreshold', { circuitBreaker: { failureThreshold: secret } }],
	])('a function as an invalid value as %s is shown as "a function", without its source', (name, options) => {
		const error = optionError(options)
		expect(error).toMatchObject({ optionPath: name, received: secret })
		expect(error.message).toContain(`option "${name}"`)
		expect(error.stack).not.toContain('the source of this')
	})

	test('a function as an invalid value in the options of one request is shown as a function too', async () => {
		const error = await failure(fetching().fetch('http://127.0.0.1:1', { yaoki: untyped({ name: secret }) }))
		expect(error.message).toBe('Invalid option "yaoki.name": expected a string, got a function')
	})
})

describe('an option of one request', () => {
	test.each<[string, unknown]>([
		['a Request', new Request('http://127.0.0.1/')],
		['a request of Node or a framework', { headers: {}, method: 'GET' }],
		['a text', 'request'],
	])('rejects %s as parent, though it may have a signal', async (_, parent) => {
		const { fetch, url, server } = await setup(FINE)
		const error = await failure(fetch(url, { yaoki: untyped({ parent }) }))
		expect(error).toHaveProperty('optionPath', 'yaoki.parent')
		expect(error.message).toContain('expected a context such as getServerContext(request)')
		expect(server.connections.opened).toBe(0)
	})

	test('deadline: 2000 is rejected with an example', async () => {
		const error = await failure(
			fetching().fetch('http://127.0.0.1:1', { yaoki: untyped({ deadline: 2_000 }) }),
		)
		expect(error.message).toBe(
			'Invalid option "yaoki.deadline": expected a Deadline such as Deadline.after(2_000), got 2000',
		)
	})
})
