import { Readable } from 'node:stream'
import axios from 'axios'
import { describe, expect, test, vi } from 'vitest'
import { explain } from 'yaoki'
import { answer, fin, refusedUrl, reset } from '../../faults/fault-server.ts'
import { axiosFailure, failure, setup } from './setup.ts'

const busy = answer({ status: 503, body: 'busy' })
const fine = answer({ headers: { 'content-type': 'application/json' }, body: '{"id":7}' })

describe('a request through axios', () => {
	test('a request through axios that succeeds is sent once, without a wait', async () => {
		const { api, server, clock } = await setup(fine)
		const response = await api.get('/users/7', { params: { full: true } })
		expect(response).toMatchObject({ status: 200, data: { id: 7 } })
		expect(server.requests.map(({ path }) => path)).toEqual(['/users/7?full=true'])
		expect(clock.pendingTimers).toBe(0)
		expect(explain(response)).toMatchObject({ stop: 'success', attempts: [{ outcome: 'success' }] })
	})

	test('is retried after a 503, and explain shows both attempts', async () => {
		const { api, server, waits } = await setup([busy, fine], { maxRetries: 3 })
		const response = await api.get('/users/7')
		expect(response.data).toEqual({ id: 7 })
		expect(server.requests).toHaveLength(2)
		expect(waits).toEqual([100])
		expect(explain(response)).toMatchObject({
			stop: 'success',
			attempts: [{ outcome: 'throttled', errorType: 'HttpError' }, { outcome: 'success' }],
		})
	})

	test.each([
		['reset before the answer', reset('request-head')],
		['closed before the answer', fin('request-head')],
		['reset in the body', reset('body')],
		['closed in the body', fin('body')],
	])('is retried if the connection is %s', async (_, fault) => {
		const { api, server } = await setup([fault, fine])
		expect((await api.get('/')).data).toEqual({ id: 7 })
		expect(server.requests).toHaveLength(2)
	})

	test("a request through axios that keeps failing throws the error of its last attempt with the caller's config", async () => {
		const { api, server } = await setup(reset('request-head'), { maxRetries: 2 })
		const validateStatus = (status: number) => status === 200
		const error = await axiosFailure(api.get('/', { validateStatus, timeout: 5_000 }))
		expect(error.code).toBe('ECONNRESET')
		expect(error.config).toMatchObject({ validateStatus, timeout: 5_000 })
		expect(error.config?.signal).toBeUndefined()
		expect(server.requests).toHaveLength(3)
		expect(explain(error)).toMatchObject({ stop: 'retries-exhausted', attempts: [{}, {}, {}] })
	})

	test('waits for Retry-After', async () => {
		const { api, waits } = await setup([answer({ status: 429, headers: { 'retry-after': '7' } }), fine])
		await api.get('/')
		expect(waits).toHaveLength(1)
		expect(waits[0]).toBeGreaterThanOrEqual(7_000)
	})

	test('a request through axios with a key waits for each 409 with Retry-After, beyond maxRetries, and returns the response', async () => {
		const inProgress = answer({ status: 409, headers: { 'retry-after': '2' } })
		const conflicts = [inProgress, inProgress, inProgress, fine] as const
		const { api, server, waits } = await setup(conflicts, { maxRetries: 1 })
		const response = await api.post('/orders', { id: 7 }, { headers: { 'idempotency-key': 'order-7' } })
		expect(response).toMatchObject({ status: 200, data: { id: 7 } })
		expect(server.requests.map(({ headers }) => headers['idempotency-key'])).toEqual(Array(4).fill('order-7'))
		expect(waits).toHaveLength(3)
		expect(Math.min(...waits)).toBeGreaterThanOrEqual(2_000)
		// Without a key a 409 is final.
		server.play(conflicts)
		expect(await axiosFailure(api.post('/orders', { id: 8 }))).toMatchObject({ response: { status: 409 } })
		expect(server.requests).toHaveLength(5)
	})

	test('is not retried if Retry-After is too long, and the error has retryAfterMs', async () => {
		const { api, server } = await setup(answer({ status: 429, headers: { 'retry-after': '3600' } }))
		const error = await axiosFailure(api.get('/'))
		expect(error).toMatchObject({
			response: { status: 429 },
			code: 'ERR_BAD_REQUEST',
			retryAfterMs: 3_600_000,
		})
		expect(server.requests).toHaveLength(1)
		expect(explain(error)?.stop).toBe('retry-after')
	})

	test('uses the options of the request', async () => {
		const { api, server } = await setup(busy, { maxRetries: 3 })
		const error = await axiosFailure(api.get('/', { yaoki: { maxRetries: 1, name: 'user' } }))
		expect(server.requests).toHaveLength(2)
		expect(explain(error)).toMatchObject({ name: 'user', stop: 'retries-exhausted' })
		await expect(api.get('/', { yaoki: { maxRetries: -1 } })).rejects.toThrow(
			'Invalid option "yaoki.maxRetries": expected an integer from 0 to 3, got -1',
		)
	})

	test('sends the remaining time and the attempt number', async () => {
		const { api, server } = await setup([busy, fine], { timeout: 3_000, totalTimeoutMs: 3_000 })
		const { config } = await api.get('/', { headers: { 'x-own': 'mine' } })
		const [first, second] = server.requests.map(({ headers }) => headers)
		expect(first).toMatchObject({ 'x-own': 'mine', 'x-request-timeout-ms': '3000' })
		expect(second).toMatchObject({ 'x-own': 'mine', 'x-request-timeout-ms': '2900' })
		expect(Object.keys(config.headers.toJSON())).not.toContain('x-request-timeout-ms')
	})

	test('is rejected immediately while the circuit of its origin is open', async () => {
		const { api, server } = await setup(busy, { maxRetries: 0, circuitBreaker: { failureThreshold: 2 } })
		for (let n = 0; n < 2; n++) expect((await axiosFailure(api.get('/'))).response?.status).toBe(503)
		const error = await failure(api.get('/'))
		expect(error).toMatchObject({ name: 'CircuitOpenError', code: 'YAOKI_CIRCUIT_OPEN' })
		expect(explain(error)?.stop).toBe('rejected')
		expect(server.requests).toHaveLength(2)
		// Another origin has a circuit of its own.
		await expect(api.get(await refusedUrl())).rejects.toMatchObject({ code: 'ECONNREFUSED' })
	})

	test('over a Unix socket has a circuit of its own', async () => {
		const { api } = await setup(fine, { maxRetries: 0, circuitBreaker: { failureThreshold: 1 } })
		const onSocket = (socketPath: string) => failure(api.get('/', { socketPath, baseURL: '' }))
		await expect(onSocket('/nowhere/a.sock')).resolves.toMatchObject({ code: 'ENOENT' })
		await expect(onSocket('/nowhere/a.sock')).resolves.toMatchObject({ name: 'CircuitOpenError' })
		await expect(onSocket('/nowhere/b.sock')).resolves.toMatchObject({ code: 'ENOENT' })
	})

	test('a request through axios that axios itself rejects is not retried', async () => {
		const { api, server, waits } = await setup(answer({ body: 'far too long' }))
		const error = await axiosFailure(api.get('/', { maxContentLength: 3 }))
		expect(error.message).toContain('maxContentLength')
		await axiosFailure(api.post('/', 'far too long', { maxBodyLength: 3, yaoki: { idempotent: true } }))
		expect(server.requests).toHaveLength(1)
		expect(waits).toEqual([])
		expect(explain(error)?.stop).toBe('permanent')
	})

	test('uses the named adapter', async () => {
		const { api, server } = await setup([busy, reset('request-head'), fine], { adapter: 'fetch' })
		expect((await api.get('/')).data).toEqual({ id: 7 })
		expect(server.requests).toHaveLength(3)
	})
})

describe('a POST', () => {
	test('is not retried, because it may have been processed', async () => {
		const { api, server } = await setup([busy, fine])
		const error = await axiosFailure(api.post('/orders', { id: 7 }))
		expect(error).toMatchObject({ response: { status: 503 }, code: 'ERR_BAD_RESPONSE' })
		expect(explain(error)?.stop).toBe('not-idempotent')
		expect(server.requests).toHaveLength(1)
	})

	test('is retried if no connection was established', async () => {
		const { api } = await setup(fine, { maxRetries: 1 })
		const error = await axiosFailure(api.post(await refusedUrl(), { id: 7 }))
		expect(error.code).toBe('ECONNREFUSED')
		expect(explain(error)?.attempts).toHaveLength(2)
	})

	test('is retried with one key with idempotency: auto', async () => {
		const { api, server } = await setup([busy, fine], { idempotency: 'auto' })
		await api.post('/orders', { id: 7 })
		await api.post('/orders', { id: 8 })
		const keys = server.requests.map(({ headers }) => headers['idempotency-key'])
		expect(server.requests.map(({ body }) => body)).toEqual(['{"id":7}', '{"id":7}', '{"id":8}'])
		expect(keys[0]).toEqual(expect.any(String))
		expect(keys[1]).toBe(keys[0])
		expect(keys[2]).not.toBe(keys[0])
	})

	test("is retried with the caller's key", async () => {
		const { api, server } = await setup([busy, fine, busy, fine])
		await api.post('/orders', 'a', { headers: { 'Idempotency-Key': 'mine' } })
		await api.post('/orders', 'b', { yaoki: { idempotencyKey: 'mine, too' } })
		const keys = server.requests.map(({ headers }) => headers['idempotency-key'])
		expect(keys).toEqual(['mine', 'mine', 'mine, too', 'mine, too'])
	})

	// Without the key the second request would be a second order.
	test('is never retried without its key, even if the header is switched off', async () => {
		const { api, server } = await setup([busy, fine], { idempotency: 'auto' })
		await api.post('/orders', 'a', { headers: { 'idempotency-key': false } }).catch(() => {})
		for (const { headers } of server.requests) expect(headers['idempotency-key']).toEqual(expect.any(String))
	})
})

describe('the body of a retried request', () => {
	const form = new FormData()
	form.append('name', 'Yaoki')

	test.each([
		['a string', 'text', 'text'],
		['an object', { id: 7 }, '{"id":7}'],
		['a Buffer', Buffer.from('bytes'), 'bytes'],
		['URLSearchParams', new URLSearchParams({ a: '1' }), 'a=1'],
		['a Blob', new Blob(['blob']), 'blob'],
		['a FormData', form, 'Yaoki'],
		['a stream that a function makes', () => Readable.from(['a ', 'stream']), 'a stream'],
	])('is the same each time for %s', async (_, data, sent) => {
		const { api, server } = await setup([busy, fine])
		await api.put('/', data)
		expect(server.requests).toHaveLength(2)
		for (const { body } of server.requests) expect(body).toContain(sent)
	})

	test('is sent once if it is a stream, and the error says why', async () => {
		const { api, server } = await setup([reset('response-head'), fine])
		const error = await axiosFailure(api.put('/', Readable.from(['a stream'])))
		expect(error.message).toContain('Pass data: () => a new stream')
		expect(axios.isAxiosError(error.cause)).toBe(true)
		expect(error.config?.method).toBe('put')
		expect(explain(error)?.stop).toBe('body-used')
		expect(server.requests).toHaveLength(1)
	})

	test('is sent once if it is a stream, and a failed status is reported as usual', async () => {
		const { api, server } = await setup([busy, fine])
		const error = await axiosFailure(api.put('/', Readable.from(['a stream'])))
		expect(error).toMatchObject({ message: 'Request failed with status code 503', response: { status: 503 } })
		expect(explain(error)?.stop).toBe('body-used')
		expect(server.requests).toHaveLength(1)
	})
})

describe('a hook', () => {
	test('sees the status, the headers and the body of the failed response', async () => {
		const onRetry = vi.fn()
		const body = '{"why":"busy"}'
		const { api } = await setup([answer({ status: 503, headers: { 'x-id': '7' }, body }), fine], {
			onRetry,
		})
		await api.get('/')
		const [error] = onRetry.mock.calls[0] ?? []
		expect(error).toMatchObject({ name: 'HttpError', statusCode: 503 })
		expect(error.response.headers.get('x-id')).toBe('7')
		expect(await error.response.json()).toEqual({ why: 'busy' })
	})
})
