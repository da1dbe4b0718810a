import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import * as undici from 'undici'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { virtualRuntime } from 'yaoki/testing'
import type { BodyObserver } from '../../../src/http/transport/transport.ts'
import { deferred } from '../deferred.ts'
import { type Handler, init, observableTransport, serve, settled } from './local-server.ts'

const send = observableTransport(undici)

const cutOff: Handler = (_, response) => {
	response.writeHead(200, { 'content-length': 100 }).write('half', () => response.destroy())
}

/** Every error that would crash the process, from now on. */
function uncaught(): unknown[] {
	const errors: unknown[] = []
	const note = (error: unknown) => errors.push(error)
	process.on('uncaughtExceptionMonitor', note)
	onTestFinished(() => {
		process.off('uncaughtExceptionMonitor', note)
	})
	return errors
}

describe('a header of an undici response', () => {
	it('is returned without a Headers object, joined lines included, or null', async () => {
		const { url } = await serve((_, response) =>
			response.writeHead(200, { 'x-two': ['a', 'b'], x: '1' }).end(),
		)
		const response = await send(url, init())
		expect([response.header('x'), response.header('x-two')]).toEqual(['1', 'a, b'])
		expect([response.header('x-none'), response.header('constructor')]).toEqual([null, null])
		expect(response.headers).toBe(response.headers)
		await response.drain()
	})

	it('that undici decoded as UTF-8 is a byte string again, as in fetch', async () => {
		const { url } = await serve()
		const old: typeof undici.request = async (...request) => {
			const answer = await undici.request(...request)
			return { ...answer, headers: { ...answer.headers, 'x-name': '日' } }
		}
		const response = await observableTransport({ request: old })(url, init())
		expect(response.headers.get('x-name')).toBe('\u00e6\u0097\u00a5')
		await response.drain()
	})
})

describe('an observer', () => {
	const follower = () => ({
		onEnd: vi.fn<BodyObserver['onEnd']>((error) => error && new Error('instead', { cause: error })),
		onReadStart: vi.fn<BodyObserver['onReadStart']>(),
		onHandOver: vi.fn<BodyObserver['onHandOver']>(),
	})

	const followed = async (handler?: Handler, signal = new AbortController().signal) => {
		const { url } = await serve(handler)
		const response = await send(url, init({ signal }))
		const watcher = follower()
		response.observe(watcher)
		return { response, ...watcher }
	}

	it.each(['text', 'arrayBuffer', 'blob'] as const)('is notified once that %s has ended', async (how) => {
		const { response, onEnd, onHandOver } = await followed()
		expect(onEnd).not.toHaveBeenCalled()
		await response[how]()
		await expect(response[how]()).rejects.toThrow(TypeError)
		await response.drain()
		expect(onEnd.mock.calls).toEqual([[]])
		expect(onHandOver).not.toHaveBeenCalled()
	})

	it('is notified of the end after invalid JSON', async () => {
		const { response, onEnd } = await followed()
		await expect(response.json()).rejects.toThrow(SyntaxError)
		expect(onEnd.mock.calls).toEqual([[]])
	})

	it('is notified of a failure once, and can replace the error', async () => {
		const { response, onEnd } = await followed(cutOff)
		await expect(response.text()).rejects.toThrow('instead')
		expect(onEnd.mock.calls).toEqual([[expect.objectContaining({ name: 'SocketError' })]])
	})

	it('is notified of the abort reason, and can replace it', async () => {
		const controller = new AbortController()
		const half: Handler = (_, answer) => void answer.write('half')
		const { response, onEnd } = await followed(half, controller.signal)
		const reading = response.text()
		controller.abort('too late')
		await expect(reading).rejects.toThrow('instead')
		expect(onEnd.mock.calls).toEqual([['too late']])
	})

	it('is not notified of a second read during the first', async () => {
		const { response, onEnd } = await followed()
		const reading = response.text()
		await expect(response.text()).rejects.toThrow(TypeError)
		expect(response.body?.locked).toBe(true)
		expect(onEnd).not.toHaveBeenCalled()
		await reading
		expect(onEnd).toHaveBeenCalledTimes(1)
	})

	it('can check isStreamTaken, which is false after accessing body', async () => {
		const { response, onEnd, onHandOver } = await followed()
		expect(response.body).toBe(response.body)
		expect(response.isStreamTaken).toBe(false)
		const reader = response.body?.getReader()
		expect(response.isStreamTaken).toBe(true)
		expect(onEnd).not.toHaveBeenCalled()
		while (!(await reader?.read())?.done);
		reader?.releaseLock()
		expect(response.isStreamTaken).toBe(true)
		expect(onHandOver).not.toHaveBeenCalled()
		expect(onEnd).toHaveBeenCalledTimes(1)
	})

	it('is notified of a body that was accessed and then read as text', async () => {
		const { response, onReadStart, onEnd } = await followed()
		expect(response.body).not.toBeNull()
		expect(await response.text()).toBe('ok')
		expect(response.isStreamTaken).toBe(false)
		expect([onReadStart.mock.calls, onEnd.mock.calls]).toEqual([[[]], [[]]])
	})

	it('is notified immediately if there is no body', async () => {
		const { response, onEnd } = await followed((_, answer) => answer.writeHead(204).end())
		expect(onEnd.mock.calls).toEqual([[]])
		await response.text()
		await response.drain()
		expect(onEnd).toHaveBeenCalledTimes(1)
	})

	it('is notified of a drained body', async () => {
		const { response, onEnd } = await followed()
		await response.drain()
		expect(onEnd.mock.calls).toEqual([[]])
	})
})

describe('drain', () => {
	const sized =
		(bytes: number): Handler =>
		(_, response) =>
			response.writeHead(503, { 'content-length': bytes }).end('x'.repeat(bytes))

	const connections = async (handler: Handler, method = 'GET') => {
		const { url, sockets } = await serve(handler)
		for (let i = 0; i < 10; i++) {
			const response = await send(url, init({ method }))
			await response.drain()
			await response.drain()
			if (response.body) await expect(response.text()).rejects.toThrow(TypeError)
		}
		return sockets.length
	}

	it('frees the connection for the next request', async () => {
		expect(await connections(sized(50_000))).toBeLessThan(3)
		expect(await connections((_, response) => response.end())).toBeLessThan(3)
		expect(await connections((_, response) => response.writeHead(204).end())).toBeLessThan(3)
	})

	it('reads at most 64 kB', async () => {
		expect(await connections(sized(65_537))).toBeGreaterThanOrEqual(10)
		const response = deferred<ServerResponse>()
		const { url } = await serve((_, answer) => {
			const more = () => {
				while (!answer.destroyed && answer.write('x'.repeat(10_000)));
			}
			answer.on('drain', more)
			more()
			response.resolve(answer)
		})
		const endless = await send(url, init())
		await endless.drain()
		const answer = await response.promise
		if (!answer.destroyed) await once(answer, 'close')
	})

	it('waits at most a second', async () => {
		const runtime = virtualRuntime()
		const { url } = await serve((_, response) => void response.write('slow'))
		const response = await observableTransport(undici, { runtime })(url, init())
		const done = vi.fn()
		const discarding = response.drain().then(done)
		await settled()
		await runtime.advance(999)
		await settled()
		expect(done).not.toHaveBeenCalled()
		await runtime.advance(1)
		await discarding
	})

	it('leaves no timer behind', async () => {
		const runtime = virtualRuntime()
		const { url } = await serve()
		await (await observableTransport(undici, { runtime })(url, init())).drain()
		expect(runtime.pendingTimers).toBe(0)
	})

	it('ends a read in progress, and a stream that the caller reads', async () => {
		const errors = uncaught()
		const { url } = await serve((_, response) => void response.write('half'))
		const first = await send(url, init())
		const reading = expect(first.text()).rejects.toThrow(Error)
		await settled()
		await first.drain()
		await reading
		const second = await send(url, init())
		const reader = second.body?.getReader()
		await reader?.read()
		const next = expect(reader?.read()).rejects.toThrow(Error)
		await second.drain()
		await next
		await settled()
		expect(errors).toEqual([])
	})

	it('ignores errors of the body', async () => {
		const errors = uncaught()
		const { url, sockets } = await serve(cutOff)
		await (await send(url, init())).drain()
		const late = await send(url, init())
		const [, socket] = sockets
		if (socket && !socket.destroyed) await once(socket, 'close')
		await settled()
		await late.drain()
		const controller = new AbortController()
		const aborted = await send(url, init({ signal: controller.signal }))
		const discarding = aborted.drain()
		controller.abort()
		await discarding
		await settled()
		expect(errors).toEqual([])
	})
})

describe('an unread body', () => {
	it('does not crash the process if it breaks or is aborted', async () => {
		const errors = uncaught()
		const { url, sockets } = await serve(cutOff)
		await send(url, init())
		const [socket] = sockets
		if (socket && !socket.destroyed) await once(socket, 'close')
		const controller = new AbortController()
		await send(url, init({ signal: controller.signal }))
		controller.abort()
		await settled()
		expect(errors).toEqual([])
	})

	it('nor if its complete stream is cancelled or drained', async () => {
		const errors = uncaught()
		const { url } = await serve()
		const first = await send(url, init())
		const second = await send(url, init())
		expect([first.body, second.body]).not.toContain(null)
		await settled()
		await first.body?.cancel()
		await second.drain()
		await settled()
		expect([first.bodyUsed, errors]).toEqual([true, []])
	})

	it.each([undefined, 'gzip'])('nor if its stream is cancelled (%s)', async (encoding) => {
		const errors = uncaught()
		const response = deferred<ServerResponse>()
		const { url } = await serve((_, answer) => {
			answer.writeHead(200, encoding ? { 'content-encoding': encoding } : {}).write('half')
			response.resolve(answer)
		})
		await (await send(url, init())).body?.cancel()
		const answer = await response.promise
		if (!answer.destroyed) await once(answer, 'close')
		await settled()
		expect(errors).toEqual([])
	})

	it('nor if the compressed body is empty and the connection is closed', async () => {
		const errors = uncaught()
		const response = deferred<ServerResponse>()
		const { url } = await serve((_, answer) => {
			answer.writeHead(200, { 'content-encoding': 'gzip' }).write('none')
			response.resolve(answer)
		})
		await expect((await send(url, init())).text()).rejects.toThrow(Error)
		const answer = await response.promise
		if (!answer.destroyed) await once(answer, 'close')
		expect(errors).toEqual([])
	})
})
