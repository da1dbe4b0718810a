import { describe, expect, test } from 'vitest'
import { explain } from 'yaoki'
import { type ResilientFetchOptions, resilientFetch } from 'yaoki/http'
import { FINE, failure, fetching, optionError, setup } from './setup.ts'

/** Values that untyped callers may pass. */
const untyped = (value: unknown): never => value as never

describe('a URL', () => {
	test.each([
		'',
		'orders',
		'/orders',
		'//host/orders',
		'http://',
		'http://a b/',
		'http://host:99999/',
		':',
		'http//host',
	])("'%s' is rejected with a TypeError that shows it", async (url) => {
		const { fetch } = fetching()
		const error = await failure(fetch(url))
		expect(error).toBeInstanceOf(TypeError)
		expect(error.message).toBe(
			`Invalid URL '${url}': expected an absolute URL such as 'https://example.com/path'`,
		)
	})

	test.each([undefined, null, 7, {}, []])('%s is rejected with a TypeError', async (url) => {
		const { fetch } = fetching()
		const error = await failure(fetch(untyped(url)))
		expect(error).toBeInstanceOf(TypeError)
		expect(error.message).toMatch(/^Invalid URL '/)
	})

	test('a URL with credentials is rejected by fetch itself, and not retried', async () => {
		const { fetch, waits } = fetching()
		const error = await failure(fetch('http://user:secret@127.0.0.1:1/'))
		expect(error).toBeInstanceOf(TypeError)
		expect(waits).toEqual([])
	})
})

describe('a request that fetch rejects', () => {
	test.each([
		['a method with a space', { method: 'GE T' }],
		['TRACE', { method: 'TRACE' }],
		['CONNECT', { method: 'CONNECT' }],
		['a body with GET', { body: 'an order' }],
		['a header with a line break', { headers: { 'x-own': 'a\nb' } }],
		['a header with a bad name', { headers: { 'x own': 'a' } }],
		['a bad mode', { mode: untyped('sideways') }],
		['a method that is no text', { method: untyped(7) }],
	])(
		'a request that fetch rejects for %s is rejected immediately with a TypeError, and nothing is sent',
		async (_, init) => {
			const { fetch, url, server, waits } = await setup(FINE)
			expect(await failure(fetch(url, init))).toBeInstanceOf(TypeError)
			expect([server.connections.opened, waits]).toEqual([0, []])
		},
	)
})

test('an invalid signal is rejected by its name, and nothing is sent', async () => {
	const { fetch, url, server } = await setup(FINE)
	const error = await failure(fetch(url, { signal: untyped({}) }))
	expect(error).toMatchObject({ name: 'InvalidOptionError', optionPath: 'signal' })
	expect(server.connections.opened).toBe(0)
})

describe('an option', () => {
	test.each([
		['retries', { retries: 3 }],
		['timeoutMs', { timeoutMs: 3 }],
		['maxRetry', { maxRetry: 3 }],
		['dispatcher', { dispatcher: {} }],
		['yaoki', { yaoki: {} }],
	])('an option that is unknown (%s) is rejected by its name', (name, options) => {
		expect(optionError(options)).toMatchObject({ name: 'InvalidOptionError', optionPath: name })
	})

	test.each<[string, unknown]>([
		...[0, -1, Number.NaN, '5'].map((value): [string, unknown] => ['timeout', value]),
		...[0, -1, Number.NaN, '5'].map((value): [string, unknown] => ['totalTimeoutMs', value]),
		...[-1, 1.5, Number.NaN, '3'].map((value): [string, unknown] => ['maxRetries', value]),
		...[-1, Infinity, '60'].map((value): [string, unknown] => ['maxRetryAfterMs', value]),
		...[0, 1.5, '9'].map((value): [string, unknown] => ['maxOrigins', value]),
		['baseDelayMs', -1],
		['jitterStrategy', 'some'],
		['longRetryAfter', 'wait'],
		['idempotency', true],
		['idempotencyHeader', 'two words'],
		['idempotencyHeader', ''],
		['retryVetoHeaders', 'x-should-retry'],
		['retryVetoHeaders', ['x-should-retry']],
		['retryVetoHeaders', { 'a b': 'false' }],
		["retryVetoHeaders['x-no']", { 'x-no': true }],
		['deadlineHeader', 'x-deadline'],
		['nested', 'both'],
		['honorRateLimit', 'yes'],
		['circuitBreaker', 5],
		['bulkhead', 'on'],
		['budget', 0.1],
		['hedge', null],
		['fetch', 'node-fetch'],
		['getContext', {}],
		['onEvent', true],
		['shouldRetry', true],
	])('%s rejects %j, and the message names the option', (name, value) => {
		const error = optionError({ [name.replace(/\[.*/, '')]: value })
		expect(error).toMatchObject({ name: 'InvalidOptionError', optionPath: name })
		expect(error.message).toContain(`option "${name}"`)
	})

	test.each([null, 7, 'fast'])('%j instead of options is rejected', (options) => {
		expect(() => resilientFetch(untyped(options))).toThrow(
			/^Invalid option "options": expected an object, got /,
		)
	})

	test('an option of undefined means the default', async () => {
		const none: ResilientFetchOptions = { timeout: undefined, maxRetries: undefined, fetch: undefined }
		const { url } = await setup(FINE)
		expect((await resilientFetch(none)(url)).status).toBe(200)
	})
})

describe('an option of one request', () => {
	test.each<[string, unknown]>([
		['yaoki.retries', 3],
		['yaoki.signal', null],
		['yaoki.timeout', 0],
		['yaoki.timeout', '5'],
		['yaoki.totalTimeoutMs', -1],
		['yaoki.maxRetries', -1],
		['yaoki.maxRetries', 3],
		['yaoki.maxRetries', 1.5],
		['yaoki.idempotent', 'yes'],
		['yaoki.idempotencyKey', ''],
		['yaoki.idempotencyKey', 7],
		['yaoki.name', 7],
		['yaoki.deadline', 500],
		['yaoki.parent', 'all'],
	])('%s rejects %j, and nothing is sent', async (name, value) => {
		const { fetch, url, server } = await setup(FINE)
		const error = await failure(fetch(url, { yaoki: untyped({ [name.replace('yaoki.', '')]: value }) }))
		expect(error).toMatchObject({ name: 'InvalidOptionError' })
		expect(error).toHaveProperty('optionPath', name)
		expect(server.connections.opened).toBe(0)
	})

	test.each([null, 7, 'fast'])('%j instead of options is rejected', async (yaoki) => {
		const { fetch, url, server } = await setup(FINE)
		expect(await failure(fetch(url, { yaoki: untyped(yaoki) }))).toHaveProperty('optionPath', 'yaoki')
		expect(server.connections.opened).toBe(0)
	})

	test('an idempotency key that is not a valid header is rejected with a TypeError, and not retried', async () => {
		const { fetch, url, server } = await setup(FINE)
		const error = await failure(fetch(url, { method: 'POST', yaoki: { idempotencyKey: 'a\nb' } }))
		expect(error).toBeInstanceOf(TypeError)
		expect(explain(error)?.attempts ?? [{}]).toHaveLength(1)
		expect(server.connections.opened).toBe(0)
	})
})
