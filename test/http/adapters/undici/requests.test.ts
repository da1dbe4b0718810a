import { once } from 'node:events'
import { createServer } from 'node:http'
import { Readable } from 'node:stream'
import { buildConnector, type Dispatcher, FormData, Pool, request, fetch as undiciFetch } from 'undici'
import { describe, expect, it, onTestFinished } from 'vitest'
import { undiciInterceptor } from '../../../../src/http/adapters/undici/undici-interceptor.ts'
import { answer, deferred, reset, type Step } from '../../faults/fault-server.ts'
import { composed, failureOf, serving } from './composed.ts'

const twoFailures = () => serving([answer({ status: 503 }), reset('request-head'), answer({ body: 'fine' })])

async function* pieces() {
	yield 'a '
	yield 'stream'
}

const resetAfterBody: Step = {
	async play(exchange) {
		await exchange.bodyArrived
		exchange.finish()
		exchange.socket.resetAndDestroy()
	},
}

/** An agent whose first connection is refused. */
function refusedOnce(): Dispatcher {
	const connect = buildConnector({})
	let isFirst = true
	return composed(
		{},
		{
			connect(options, callback) {
				if (!isFirst) return connect(options, callback)
				isFirst = false
				callback(Object.assign(new Error('refused'), { code: 'ECONNREFUSED', syscall: 'connect' }), null)
			},
		},
	)
}

describe('the body of a request through the interceptor', () => {
	it.each([
		['a string', 'data', 'data'],
		['a Buffer', Buffer.from('data'), 'data'],
		['a view', new Uint8Array([100, 97]), 'da'],
		['none', null, ''],
	])('is sent again if it is data: %s', async (_, body, seen) => {
		const server = await twoFailures()
		const { statusCode } = await request(server.url(), { dispatcher: composed(), method: 'PUT', body })
		expect(statusCode).toBe(200)
		expect(server.requests.map((one) => one.body)).toEqual([seen, seen, seen])
	})

	it('is sent again if it is a form', async () => {
		const server = await twoFailures()
		const body = new FormData()
		body.append('name', 'value')
		const { statusCode } = await request(server.url(), { dispatcher: composed(), method: 'PUT', body })
		expect(statusCode).toBe(200)
		expect(server.requests.map((one) => one.body.includes('value'))).toEqual([true, true, true])
	})

	it.each([
		['a stream', () => Readable.from(pieces())],
		['a generator', () => Readable.from(pieces()).iterator()],
		['an iterable', () => ['a ', 'stream'].values()],
	])('is sent once if it is %s, and the error says why', async (_, make) => {
		const server = await serving(resetAfterBody)
		// undici’s types know fewer bodies than undici does.
		const options: object = { dispatcher: composed(), method: 'PUT', body: make() }
		const error = await failureOf(request(server.url(), options))
		expect(error).toMatchObject({
			message: expect.stringContaining('not retried: the request body is a stream'),
		})
		expect(server.requests.map(({ body }) => body)).toEqual(['a stream'])
	})

	it('the body of a request through the interceptor that was a stream: the caller receives the failed response', async () => {
		const server = await serving(answer({ status: 503, body: 'busy' }))
		const { statusCode, body } = await request(server.url(), {
			dispatcher: composed(),
			method: 'PUT',
			body: Readable.from(pieces()),
		})
		expect([statusCode, await body.text()]).toEqual([503, 'busy'])
		expect(server.requests).toHaveLength(1)
	})

	it.each([
		[
			'a stream',
			(url: string) => request(url, { ...PUT, dispatcher: refusedOnce(), body: Readable.from(pieces()) }),
		],
		[
			'what fetch was given',
			(url: string) => undiciFetch(url, { ...PUT, dispatcher: refusedOnce(), body: 'a stream' }),
		],
	])(
		'the body of a request through the interceptor that is still unread is sent again: %s',
		async (_, send) => {
			const server = await serving(answer())
			await send(server.url())
			expect(server.requests.map(({ body }) => body)).toEqual(['a stream'])
		},
	)

	it('is created for each attempt if it is a function', async () => {
		const server = await twoFailures()
		// undici’s types know no such body, but it hands all of its options through.
		const options: object = { ...PUT, dispatcher: composed(), body: () => Readable.from(pieces()) }
		const { statusCode } = await request(server.url(), options)
		expect(statusCode).toBe(200)
		expect(server.requests.map(({ body }) => body)).toEqual(['a stream', 'a stream', 'a stream'])
	})
})

const PUT = { method: 'PUT' } as const

describe('a request through the interceptor', () => {
	it('is retried if the caller sets idempotent: true, whatever its method', async () => {
		const server = await twoFailures()
		const options = { dispatcher: composed(), body: 'x', idempotent: true } as const
		expect((await request(server.url(), { method: 'POST', ...options })).statusCode).toBe(200)
	})

	it('is not retried if the caller sets idempotent: false', async () => {
		const server = await twoFailures()
		const options = { dispatcher: composed(), idempotent: false } as const
		expect((await request(server.url(), options)).statusCode).toBe(503)
	})

	it("sends one idempotency key with all attempts with idempotency: 'auto'", async () => {
		const server = await twoFailures()
		const dispatcher = composed({ idempotency: 'auto' })
		expect((await request(server.url(), { dispatcher, method: 'POST', body: 'x' })).statusCode).toBe(200)
		const keys = server.requests.map(({ headers }) => headers['idempotency-key'])
		expect(keys[0]).toMatch(/^[\da-f-]{36}$/)
		expect(new Set(keys).size).toBe(1)
	})

	it.each([
		['a table', { 'X-Own': 'yes', 'x-two': ['1', '2'], 'x-not': undefined, 'Idempotency-Key': 'k-1' }],
		['a list', ['X-Own', 'yes', 'x-two', '1', 'x-two', '2', 'Idempotency-Key', 'k-1']],
		[
			'pairs',
			new Map([
				['X-Own', 'yes'],
				['x-two', '1, 2'],
				['Idempotency-Key', 'k-1'],
			]),
		],
	])('adds headers in the caller’s form: %s', async (_, headers) => {
		const server = await serving([answer({ status: 503 }), answer()])
		const dispatcher = composed({ idempotency: 'auto', timeout: 30_000 })
		const sent = { dispatcher, method: 'POST', body: 'x', headers } as const
		expect((await request(server.url(), sent)).statusCode).toBe(200)
		const [first, second] = server.requests.map((one) => one.headers)
		expect(first).toMatchObject({ 'x-own': 'yes', 'x-two': '1, 2', 'idempotency-key': 'k-1' })
		expect(first).not.toHaveProperty('x-not')
		expect(Number(first?.['x-request-timeout-ms'])).toBeGreaterThan(20_000)
		expect(first).not.toHaveProperty('x-retry-attempt')
		expect(second).toMatchObject({ 'x-own': 'yes', 'idempotency-key': 'k-1', 'x-retry-attempt': '1' })
	})

	it('has one breaker per origin', async () => {
		const bad = await serving(answer({ status: 500 }))
		const good = await serving(answer())
		const dispatcher = composed({ maxRetries: 0, circuitBreaker: { failureThreshold: 1 } })
		await request(bad.url(), { dispatcher })
		await failureOf(request(bad.url(), { dispatcher }))
		expect((await request(good.url(), { dispatcher })).statusCode).toBe(200)
		expect(bad.requests).toHaveLength(1)
	})

	it("waits in the bulkhead's queue, and an abort ends that wait", async () => {
		const release = deferred()
		const server = await serving(answer({ after: release.promise }))
		const dispatcher = composed({ bulkhead: { maxConcurrent: 1, maxQueue: 5 } })
		const first = request(server.url('/first'), { dispatcher })
		const controller = new AbortController()
		const reason = new Error('never mind')
		const second = failureOf(request(server.url('/second'), { dispatcher, signal: controller.signal }))
		await server.requested(1)
		controller.abort(reason)
		expect(await second).toBe(reason)
		release.resolve()
		expect((await first).statusCode).toBe(200)
		expect(server.requests.map(({ path }) => path)).toEqual(['/first'])
	})

	it('a request through the interceptor through a pool needs no origin', async () => {
		const server = await serving([answer({ status: 503 }), answer()])
		const pool = new Pool(server.origin)
		onTestFinished(() => pool.destroy())
		const dispatcher = pool.compose(undiciInterceptor({ baseDelayMs: 1 }))
		expect((await dispatcher.request({ path: '/', method: 'GET' })).statusCode).toBe(200)
	})

	it('a request through the interceptor for an upgrade is passed through', async () => {
		const server = createServer().listen(0, '127.0.0.1')
		onTestFinished(() => void server.close())
		server.on('upgrade', ({ headers }, socket) => {
			const header = 'x-request-timeout-ms' in headers ? 'added' : 'none'
			socket.end(`HTTP/1.1 101 Go\r\nconnection: upgrade\r\nupgrade: own\r\nx-header: ${header}\r\n\r\n`)
		})
		await once(server, 'listening')
		const address = server.address()
		const port = typeof address === 'object' ? address?.port : 0
		const asked = { origin: `http://127.0.0.1:${port}`, path: '/', protocol: 'own' }
		const { headers, socket } = await composed().upgrade(asked)
		expect(headers['x-header']).toBe('none')
		socket.destroy()
	})

	it('a request through the interceptor that cannot be sent is rejected by undici itself, once', async () => {
		let retries = 0
		const dispatcher = composed({ onRetry: () => retries++ })
		const sent = dispatcher.request({ origin: 'http://127.0.0.1:1', path: '/a b', method: 'GET' })
		expect(await failureOf(sent)).toMatchObject({ code: 'UND_ERR_INVALID_ARG' })
		expect(retries).toBe(0)
	})
})

it('rejects invalid options when the interceptor is created', () => {
	expect(() => undiciInterceptor({ maxRetries: -1 })).toThrow(/maxRetries/)
})

it('ends a stream that is not sent, because the circuit is open', async () => {
	const server = await serving(answer({ status: 500 }))
	const dispatcher = composed({ maxRetries: 0, circuitBreaker: { failureThreshold: 1 } })
	await (await request(server.url(), { dispatcher })).body.dump()
	const body = new Readable({ read() {} })
	const ended = once(body, 'close')
	const error = await failureOf(request(server.url(), { dispatcher, method: 'PUT', body }))
	expect(error).toMatchObject({ code: 'YAOKI_CIRCUIT_OPEN' })
	await ended
	expect(server.requests.length).toBe(1)
})
