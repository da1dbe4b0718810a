import { Agent } from 'undici'
import { describe, expect, test } from 'vitest'
import { explain } from 'yaoki'
import type { RequestOptions, ResilientFetchOptions, ResilientRequestInit } from 'yaoki/http'
import { fin, refusedUrl, reset, type Step } from '../faults/fault-server.ts'
import { FINE, failingOnce, failure, SENDERS, status } from './setting.ts'

/** Methods that may be sent twice. */
const METHODS: Readonly<Record<string, boolean>> = {
	...{ GET: true, HEAD: true, OPTIONS: true, QUERY: true, PUT: true, DELETE: true, get: true, put: true },
	...{ POST: false, PATCH: false, post: false, patch: false, PURGE: false },
}

interface Permission {
	readonly headers?: () => NonNullable<ResilientRequestInit['headers']>
	readonly yaoki?: RequestOptions
	readonly options?: ResilientFetchOptions
	/** Whether the request is retried, given whether its method alone allows it. */
	readonly mayRepeat: (byMethod: boolean, method: string) => boolean
}

const always = () => true
const byMethod = (may: boolean) => may
const withPostAndPatch = (may: boolean, method: string) => may || /^(post|patch)$/i.test(method)

const PERMISSIONS: Readonly<Record<string, Permission>> = {
	'no key': { mayRepeat: byMethod },
	'a key in Headers': { headers: () => new Headers({ 'Idempotency-Key': 'mine' }), mayRepeat: always },
	'a key in an object': { headers: () => ({ 'idempotency-key': 'mine' }), mayRepeat: always },
	'a key in an object in capitals': { headers: () => ({ 'IDEMPOTENCY-KEY': 'mine' }), mayRepeat: always },
	'a key in a list': { headers: () => [['Idempotency-KEY', 'mine']], mayRepeat: always },
	'an empty key in an object': { headers: () => ({ 'Idempotency-Key': '' }), mayRepeat: byMethod },
	'other headers': { headers: () => [['x-key', 'mine']], mayRepeat: byMethod },
	'a key in a header of another name': {
		headers: () => ({ 'x-request-key': 'mine' }),
		options: { idempotencyHeader: 'X-Request-Key' },
		mayRepeat: always,
	},
	"idempotency: 'auto'": { options: { idempotency: 'auto' }, mayRepeat: withPostAndPatch },
	'yaoki.idempotencyKey': { yaoki: { idempotencyKey: 'mine' }, mayRepeat: always },
	'yaoki.idempotent: true': { yaoki: { idempotent: true }, mayRepeat: always },
	'yaoki.idempotent: false': { yaoki: { idempotent: false }, mayRepeat: () => false },
	'yaoki.idempotent: false and a key': {
		yaoki: { idempotent: false, idempotencyKey: 'mine' },
		mayRepeat: () => false,
	},
}

/** `maybe`: retried if allowed; `never`: a permanent failure. */
const FAULTS: Readonly<Record<string, readonly [Step, 'maybe' | 'never']>> = {
	503: [status(503), 'maybe'],
	500: [status(500), 'maybe'],
	429: [status(429), 'maybe'],
	408: [status(408), 'maybe'],
	425: [status(425), 'maybe'],
	501: [status(501), 'never'],
	505: [status(505), 'never'],
	404: [status(404), 'never'],
	422: [status(422), 'never'],
	'a reset once the head was read': [reset('request-head'), 'maybe'],
	'a close once the head was read': [fin('request-head'), 'maybe'],
}

const WRONG = status(421)

const isAllowed = (permission: Permission, method: string): boolean =>
	permission.mayRepeat(METHODS[method] === true, method)

const initOf = ({ headers, yaoki }: Permission, method: string): ResilientRequestInit => ({
	method,
	...(headers && { headers: headers() }),
	...(yaoki && { yaoki }),
})

describe.each(SENDERS)('over $name', ({ fetching, networkError, setting }) => {
	describe.each(Object.entries(FAULTS))('after %s', (_, [fault, answer]) => {
		test.each(Object.entries(PERMISSIONS))(
			'a request with %s is retried as documented',
			async (_name, permission) => {
				const { fetch, server } = await setting(failingOnce(fault), permission.options)
				const methods = Object.keys(METHODS)
				const stops = await Promise.all(
					methods.map(async (method) => {
						const ended = await fetch(server.url(`/${method}`), initOf(permission, method)).catch(
							(error) => error,
						)
						return [method, explain(ended)?.stop]
					}),
				)
				const isRepeated = (method: string) => answer === 'maybe' && isAllowed(permission, method)
				const rejection = answer === 'never' ? 'permanent' : 'not-idempotent'
				expect(Object.fromEntries(stops)).toEqual(
					Object.fromEntries(methods.map((method) => [method, isRepeated(method) ? 'success' : rejection])),
				)
				const calls = (method: string) => server.requests.filter(({ path }) => path === `/${method}`)
				for (const method of methods) expect(calls(method)).toHaveLength(isRepeated(method) ? 2 : 1)
				expect(calls('patch').map((seen) => seen.method)).toContain('PATCH')
			},
		)
	})

	describe('a request that certainly was not processed', () => {
		test.each(Object.keys(METHODS))('is retried: %s to a closed port', async (method) => {
			const { fetch } = fetching()
			const url = await refusedUrl()
			const error = await failure(fetch(url, { method, yaoki: { idempotent: false } }))
			expect(explain(error)).toMatchObject({ stop: 'retries-exhausted', attempts: [{}, {}, {}] })
		})

		test.each(Object.keys(METHODS))('is retried: %s after a 421', async (method) => {
			// The fetch of Node sends a 421 once more by itself, on another connection: so an attempt is two requests.
			const { fetch, url, server } = await setting([WRONG, WRONG, FINE])
			const response = await fetch(url, { method, yaoki: { idempotent: false } })
			expect(response.status).toBe(200)
			expect(explain(response)?.attempts).toMatchObject([{ outcome: 'transient' }, { outcome: 'success' }])
			expect(server.requests).toHaveLength(3)
		})

		test.each(['ENOTFOUND', 'EAI_AGAIN'])('is retried: POST to an unknown host (%s)', async (code) => {
			// A simulated resolver error: a real lookup may be slow without a network.
			const unknown = Object.assign(new Error(`getaddrinfo ${code}`), { code, syscall: 'getaddrinfo' })
			const agent = new Agent({ connect: { lookup: (_name, _options, found) => found(unknown, '') } })
			const { fetch } = fetching({ dispatcher: agent })
			const error = await failure(fetch('http://no-such-host.invalid/', { method: 'POST', body: 'an order' }))
			expect(explain(error)).toMatchObject({ stop: 'retries-exhausted', attempts: [{}, {}, {}] })
			await agent.destroy()
		})

		test('is not retried if its body is a used stream', async () => {
			const { fetch } = fetching()
			const body = new Blob(['once']).stream()
			const error = await failure(fetch(await refusedUrl(), { method: 'POST', body, duplex: 'half' }))
			expect(explain(error)).toMatchObject({ stop: 'body-used', attempts: [{}] })
		})
	})

	describe('a connection that is reset before the request was read', () => {
		test.each(['GET', 'PUT', 'DELETE'])('costs a %s nothing', async (method) => {
			const { fetch, url } = await setting([reset('accept'), FINE])
			expect((await fetch(url, { method })).status).toBe(200)
		})

		test('ends a POST, unless the reset came while it still connected', async () => {
			const { fetch, url, server } = await setting([reset('accept'), FINE])
			const ended = await fetch(url, { method: 'POST' }).catch((error) => error)
			// Which of the two occurs depends on the system; without proof the request is never sent again.
			const wasConnecting = !(ended instanceof Error)
			expect(explain(ended)?.stop).toBe(wasConnecting ? 'success' : 'not-idempotent')
			if (!wasConnecting)
				expect(networkError(ended)).toMatchObject({
					code: 'ECONNRESET',
					syscall: expect.not.stringMatching('connect'),
				})
			expect(server.requests).toHaveLength(wasConnecting ? 1 : 0)
		})
	})

	describe("the user's shouldRetry", () => {
		test('can retry a 404, but never a POST without a key', async () => {
			const { fetch, url, server } = await setting(status(404), { shouldRetry: () => true })
			expect(explain(await fetch(url))?.stop).toBe('retries-exhausted')
			expect(explain(await fetch(url, { method: 'POST' }))?.stop).toBe('not-idempotent')
			expect(server.requests.map(({ method }) => method)).toEqual(['GET', 'GET', 'GET', 'POST'])
		})

		test('that throws ends the call with its error', async () => {
			const boom = new Error('boom')
			const { fetch, url } = await setting(status(503), {
				shouldRetry: () => {
					throw boom
				},
			})
			expect(await failure(fetch(url))).toBe(boom)
		})
	})
})
