import { MockAgent, request } from 'undici'
import { describe, expect, it, onTestFinished } from 'vitest'
import { undiciInterceptor } from '../../../../src/http/adapters/undici/undici-interceptor.ts'
import type { DispatchHandler, DispatchOptions } from '../../../../src/http/adapters/undici/undici-types.ts'
import { answerStream, type Http2Step, refuseStream, startHttp2Server } from '../../faults/http2-server.ts'
import { composed, ONE_CONNECTION } from './composed.ts'

const REQUEST = { origin: 'http://127.0.0.1:1', path: '/', method: 'GET' }

/** The interceptor around a dispatcher that responds itself. */
function around(answering: (options: DispatchOptions, handler: DispatchHandler) => void) {
	const dispatch = undiciInterceptor({ baseDelayMs: 1 })(
		(options: DispatchOptions, handler: DispatchHandler) => {
			answering(options, handler)
			return false
		},
	)
	// The types do not know handlers of the older kind.
	return (options: object, handler: object): boolean => Reflect.apply(dispatch, undefined, [options, handler])
}

describe('passes anything but a plain request through unchanged', () => {
	it.each([
		['CONNECT', { ...REQUEST, method: 'CONNECT' }],
		['an upgrade', { ...REQUEST, upgrade: 'websocket' }],
		['one without a method', { origin: REQUEST.origin, path: '/' }],
	])('%s', (_, options) => {
		const seen: unknown[] = []
		const handler = {}
		expect(around((...given) => seen.push(...given))(options, handler)).toBe(false)
		expect(seen[0]).toBe(options)
		expect(seen[1]).toBe(handler)
	})
})

/** A controller that an interceptor created, without raw headers. */
function controllerOf(calls: string[]) {
	const note = (name: string) => () => void calls.push(name)
	return {
		aborted: false,
		paused: false,
		reason: null,
		abort: note('abort'),
		pause: note('pause'),
		resume: note('resume'),
	}
}

describe('a handler of the older kind', () => {
	it('is called by its own methods, without HTTP/2', async () => {
		const calls: string[] = []
		const controller = controllerOf(calls)
		const received: unknown[] = []
		let asked: object = {}
		const send = around((options, handler) => {
			asked = options
			handler.onRequestStart?.(controller, null)
			handler.onBodySent?.(new Uint8Array(1))
			handler.onRequestSent?.()
			handler.onResponseStart?.(controller, 200, { one: '1', two: ['2', '3'] }, 'Fine')
			handler.onResponseData?.(controller, new Uint8Array(2))
			handler.onResponseEnd?.(controller, { end: 'yes' })
		})
		send(REQUEST, {
			onConnect: () => received.push('connect'),
			onBodySent: ({ length }: Uint8Array) => received.push(length),
			onRequestSent: () => received.push('sent'),
			onResponseStarted: () => received.push('started'),
			onHeaders(status: number, raw: unknown, resume: () => void, message: string) {
				received.push(status, raw, message)
				resume()
				return false
			},
			onData: ({ length }: Uint8Array) => {
				received.push(length)
				return false
			},
			onComplete: (trailers: unknown) => received.push(trailers),
		})
		expect(asked).toMatchObject({ allowH2: false })
		const raw = ['one', '1', 'two', '2', 'two', '3']
		expect(received).toEqual(['connect', 1, 'sent', 'started', 200, raw, 'Fine', 2, ['end', 'yes']])
		expect(calls).toEqual(['resume', 'pause', 'pause'])
	})

	it('aborts with the function passed to onConnect', async () => {
		const reason = new Error('no')
		const error = await new Promise((onError) => {
			around(() => {})(REQUEST, { onConnect: (abort: (why: unknown) => void) => abort(reason), onError })
		})
		expect(error).toBe(reason)
	})
})

describe('a response that ignores a pause', () => {
	function mocked() {
		const agent = new MockAgent()
		agent.disableNetConnect()
		onTestFinished(() => agent.close())
		const dispatcher = agent.compose(undiciInterceptor({ baseDelayMs: 1, maxRetries: 2 }))
		return { pool: agent.get('http://mocked.test'), dispatcher }
	}

	it('is drained if there is another attempt', async () => {
		const { pool, dispatcher } = mocked()
		pool.intercept({ path: '/' }).reply(503, 'busy').times(2)
		pool.intercept({ path: '/' }).reply(200, 'fine')
		const { statusCode, body } = await request('http://mocked.test/', { dispatcher })
		expect([statusCode, await body.text()]).toEqual([200, 'fine'])
	})

	it('is buffered for the caller, with body and trailers, until it is known to be the last', async () => {
		const { pool, dispatcher } = mocked()
		pool
			.intercept({ path: '/' })
			.reply(503, 'busy', { trailers: { end: 'yes' } })
			.times(3)
		const { statusCode, body, trailers } = await request('http://mocked.test/', { dispatcher })
		expect([statusCode, await body.text(), trailers]).toEqual([503, 'busy', { end: 'yes' }])
	})

	it('is buffered with its error if the connection broke', async () => {
		const controller = controllerOf([])
		const broken = new Error('broken')
		const send = around((_, handler) => {
			handler.onRequestStart?.(controller, null)
			handler.onResponseStart?.(controller, 404, {})
			handler.onResponseData?.(controller, new Uint8Array(3))
			handler.onResponseError?.(controller, broken)
		})
		const received: unknown[] = []
		await new Promise<void>((resolve) => {
			send(REQUEST, {
				onRequestStart: () => {},
				onResponseStart: (_: unknown, status: number) => received.push(status),
				onResponseData: (_: unknown, { length }: Uint8Array) => received.push(length),
				onResponseError(_: unknown, error: unknown) {
					received.push(error)
					resolve()
				},
			})
		})
		expect(received).toEqual([404, 3, broken])
	})

	it('is cancelled if too much of it has arrived', async () => {
		const calls: string[] = []
		const controller = controllerOf(calls)
		let status = 503
		const send = around((_, handler) => {
			handler.onRequestStart?.(controller, null)
			handler.onResponseStart?.(controller, status, {})
			handler.onResponseData?.(controller, new Uint8Array(70_000))
			if (status === 200) handler.onResponseEnd?.(controller, {})
			status = 200
		})
		await new Promise<void>((resolve) => {
			send(REQUEST, { onRequestStart: () => {}, onResponseEnd: resolve })
		})
		expect(calls).toEqual(['pause', 'abort'])
	})
})

describe('over HTTP/2', () => {
	async function asking(...script: [Http2Step, ...Http2Step[]]) {
		const server = await startHttp2Server(script)
		onTestFinished(() => server.close())
		const dispatcher = composed(
			{ maxRetries: 2 },
			{ ...ONE_CONNECTION, allowH2: true, connect: { ca: server.ca } },
		)
		const { statusCode, body } = await request(server.url(), { dispatcher })
		return { status: statusCode, text: await body.text(), server }
	}

	it('drains a failed response and retries on the same connection', async () => {
		const failed = answerStream({ status: 503, body: 'x'.repeat(50_000) })
		const { status, text, server } = await asking(failed, failed, answerStream({ body: 'fine' }))
		expect([status, text]).toEqual([200, 'fine'])
		expect(server.connections.opened).toBe(1)
	})

	it('delivers the last failed response with its body', async () => {
		const body = 'x'.repeat(500_000)
		const { status, text } = await asking(answerStream({ status: 503, body }))
		expect([status, text.length]).toEqual([503, body.length])
	})

	it('retries a stream that the server refused', async () => {
		const { status } = await asking(refuseStream(), refuseStream(), answerStream())
		expect(status).toBe(200)
	})
})
