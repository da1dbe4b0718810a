import { describe, expect, it } from 'vitest'
import { explain } from 'yaoki'
import { HttpError } from 'yaoki/http'
import { answer, hugeBody } from '../faults/fault-server.ts'
import { FETCHES, failure, setup, textOf } from './setup.ts'

const busy = answer({ status: 503, body: 'busy' })
const fine = answer({ headers: { 'content-type': 'application/json' }, body: '{"id":7}' })

/** What a request failed with, which has to be a status. */
async function statusError(request: Promise<unknown>): Promise<HttpError> {
	const error = await failure(request)
	if (!(error instanceof HttpError)) throw new Error('not a status', { cause: error })
	return error
}

describe.each(FETCHES)('a request over %s', (_, fetch) => {
	it('returns a response that can be read like any other', async () => {
		const { client, server } = await setup(fetch, fine)
		const response = await client.request(new URL(server.url('/users/7?full=1')))
		expect(response).toMatchObject({ status: 200, ok: true, url: server.url('/users/7?full=1') })
		expect(response.headers.get('content-type')).toBe('application/json')
		expect(await response.json()).toEqual({ id: 7 })
		expect(server.requests).toMatchObject([{ method: 'GET', path: '/users/7?full=1', body: '' }])
	})

	it.each(['get', 'post', 'put', 'patch', 'delete'] as const)('has the method of %s', async (method) => {
		const { client, server } = await setup(fetch, fine)
		// A method in the init does not override the called method.
		await client[method](server.url('/a'), { method: 'OPTIONS', headers: { 'x-own': 'mine' } })
		expect(server.requests).toMatchObject([
			{ method: method.toUpperCase(), path: '/a', headers: { 'x-own': 'mine' } },
		])
	})

	it('has any other method with request, in upper case', async () => {
		const { client, server } = await setup(fetch, fine)
		await client.request(server.url('/a'), { method: 'options' })
		const head = await client.request(server.url('/a'), { method: 'head' })
		expect(await head.text()).toBe('')
		expect(server.requests.map(({ method }) => method)).toEqual(['OPTIONS', 'HEAD'])
	})

	it('sends json with its content-type, unless the caller sets one', async () => {
		const { client, server } = await setup(fetch, fine)
		await client.post(server.url(), { json: { name: 'Ada' } })
		await client.put(server.url(), { json: null, headers: { 'Content-Type': 'application/vnd.own+json' } })
		await client.patch(server.url(), { json: false, headers: new Headers({ 'x-own': 'mine' }) })
		expect(server.requests.map(({ body }) => body)).toEqual(['{"name":"Ada"}', 'null', 'false'])
		const types = server.requests.map(({ headers }) => headers['content-type'])
		expect(types).toEqual(['application/json', 'application/vnd.own+json', 'application/json'])
		expect(server.requests[2]?.headers['x-own']).toBe('mine')
	})

	it('sends the same JSON with every attempt', async () => {
		const { client, server } = await setup(fetch, [busy, fine])
		await client.put(server.url(), { json: { id: 7 } })
		expect(server.requests.map(({ body }) => body)).toEqual(['{"id":7}', '{"id":7}'])
	})

	it('rejects invalid requests with an error that names the cause, and sends nothing', async () => {
		const { client, server } = await setup(fetch, fine)
		const url = server.url()
		await expect(client.post(url, { json: {}, body: 'both' })).rejects.toThrow('Invalid option "json"')
		await expect(client.get('nowhere')).rejects.toThrow("Invalid URL 'nowhere'")
		await expect(client.get(url, { yaoki: { timeout: 0 } })).rejects.toThrow(
			/Invalid option "yaoki\.timeout": expected .*, got 0/,
		)
		await expect(client.get(url, { yaoki: JSON.parse('{"retries":1}') })).rejects.toThrow('retries')
		const used = new Response('used').body
		used?.getReader()
		await expect(client.put(url, { body: used })).rejects.toThrow('has already been read')
		expect(server.requests).toEqual([])
	})

	it('throws an HttpError with status, body and headers when the retries are exhausted', async () => {
		const broken = answer({ status: 500, headers: { 'x-request-id': 'r7' }, body: 'out of order' })
		const { client, server, waits } = await setup(fetch, broken, { maxRetries: 2 })
		const error = await statusError(client.get(server.url()))
		expect(error).toBeInstanceOf(HttpError)
		expect(error).toMatchObject({ name: 'HttpError', code: 'YAOKI_HTTP', statusCode: 500 })
		expect(error.body).toBe('out of order')
		expect(error.response?.headers.get('x-request-id')).toBe('r7')
		expect(waits).toEqual([100, 100])
		expect(server.requests).toHaveLength(3)
		expect(explain(error)).toMatchObject({
			name: 'http',
			stop: 'retries-exhausted',
			attempts: [{ outcome: 'transient', delayMs: 100 }, { delaySource: 'backoff' }, { attempt: 3 }],
		})
	})

	it.each([400, 401, 403, 404, 410, 422])('is not retried after a %i', async (status) => {
		const { client, server } = await setup(fetch, answer({ status, body: 'no' }))
		const error = await statusError(client.get(server.url()))
		expect(error).toMatchObject({ statusCode: status, body: 'no' })
		expect(explain(error)?.stop).toBe('permanent')
		expect(server.requests).toHaveLength(1)
	})

	it.each([408, 429, 500, 502, 503, 504])(
		'is retried after a %i, and explain shows both attempts',
		async (status) => {
			const { client, server } = await setup(fetch, [answer({ status }), fine])
			const response = await client.get(server.url(), { yaoki: { name: 'load user' } })
			expect(await response.json()).toEqual({ id: 7 })
			expect(server.requests).toHaveLength(2)
			const explanation = explain(response)
			expect(explanation).toMatchObject({ name: 'load user', stop: 'success' })
			expect(explanation?.attempts.map(({ attempt, errorMessage }) => [attempt, errorMessage])).toEqual([
				[1, `HTTP ${status}`],
				[2, undefined],
			])
			expect(client.stats).toMatchObject({ requests: 1, failures: 0, attempts: 2 })
		},
	)

	it('a request that succeeded has an explanation too', async () => {
		const { client, server } = await setup(fetch, fine)
		const response = await client.get(server.url())
		expect(explain(response)).toMatchObject({
			stop: 'success',
			attempts: [{ attempt: 1, outcome: 'success' }],
		})
	})

	it('throws an HttpError for a 304, which has no body', async () => {
		const { client, server } = await setup(fetch, answer({ status: 304, headers: { etag: '"7"' } }))
		const error = await statusError(client.get(server.url(), { headers: { 'if-none-match': '"7"' } }))
		expect(error).toMatchObject({ statusCode: 304, body: '' })
		expect(error.response?.headers.get('etag')).toBe('"7"')
		expect(server.requests).toHaveLength(1)
	})

	it("follows redirects, or throws an HttpError with redirect: 'manual'", async () => {
		const { client, server } = await setup(fetch, {
			'/old': answer({ status: 302, headers: { location: '/new' }, body: 'moved' }),
			'/new': answer({ body: 'here' }),
		})
		const followed = await client.get(server.url('/old'))
		expect(followed).toMatchObject({ status: 200, redirected: true, url: server.url('/new') })
		const error = await statusError(client.get(server.url('/old'), { redirect: 'manual' }))
		expect(error).toMatchObject({ statusCode: 302, body: 'moved' })
		expect(error.response?.headers.get('location')).toBe('/new')
		expect(explain(error)?.attempts).toHaveLength(1)
		// The server works, so the breaker counts a success.
		expect(client.stats.origins[server.origin]?.circuit).toMatchObject({ failureCount: 0, successCount: 2 })
	})

	it('counts an unfollowed redirect as a failure', async () => {
		const { client, server } = await setup(fetch, answer({ status: 302, headers: { location: '/' } }))
		await statusError(client.get(server.url(), { redirect: 'manual' }))
		expect(client.stats).toMatchObject({ requests: 1, failures: 1 })
	})

	it('carries at most 64 kB of an error body, and does not load the rest', async () => {
		const { client, server } = await setup(fetch, hugeBody({ status: 500 }), { maxRetries: 0 })
		const error = await statusError(client.get(server.url()))
		expect(error.body).toBe('x'.repeat(65_536))
		// Kernel buffers may have been filled before the cancel.
		expect((await server.aborted(1)).bytesWritten).toBeLessThan(20_000_000)
	})

	it('reads an error body up to exactly the limit', async () => {
		const { client, server } = await setup(fetch, {
			'/at': answer({ status: 400, body: 'y'.repeat(65_536) }),
			'/beyond': answer({ status: 400, body: `${'y'.repeat(65_536)}z` }),
			'/split': answer({ status: 400, body: `${'y'.repeat(65_535)}\u00e9` }),
		})
		expect((await statusError(client.get(server.url('/at')))).body).toBe('y'.repeat(65_536))
		expect((await statusError(client.get(server.url('/beyond')))).body).toBe('y'.repeat(65_536))
		// A character cut in half is replaced by U+FFFD.
		expect((await statusError(client.get(server.url('/split')))).body).toBe(`${'y'.repeat(65_535)}\ufffd`)
	})

	it('returns the body of the last response, and needs few connections for all attempts', async () => {
		const script = [
			answer({ status: 503, body: 'a'.repeat(50_000) }),
			busy,
			answer({ status: 503, body: 'last' }),
		] as const
		const { client, server } = await setup(fetch, script, { maxRetries: 2 })
		expect((await statusError(client.get(server.url()))).body).toBe('last')
		expect(await failure(textOf(client.get(server.url())))).toMatchObject({ body: 'last' })
		expect(server.connections.mostOpen).toBeLessThanOrEqual(2)
	})
})
