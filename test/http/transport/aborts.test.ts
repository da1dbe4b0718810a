import { getEventListeners, once } from 'node:events'
import type { ServerResponse } from 'node:http'
import * as undici from 'undici'
import { describe, expect, it, onTestFinished } from 'vitest'
import { undiciTransport } from '../../../src/http/transport/undici-transport.ts'
import { deferred } from '../deferred.ts'
import { init, observableTransport, serve, settled, transports } from './local-server.ts'

/** A server that sends a head and half a body; `held` is its response. */
async function serveHalf() {
	const held: ServerResponse[] = []
	const server = await serve((_, response) => {
		held.push(response)
		response.writeHead(200, { 'content-length': 100 })
		response.write('half')
	})
	return { ...server, held }
}

const reasons = [new Error('too late'), 'a text', 0, null]

describe.each(transports)('an abort over $name', ({ name, send }) => {
	// For a falsy reason, fetch creates its own error once there is a body.
	const reasonsInBody = name === 'fetch' ? reasons.slice(0, 2) : reasons

	it.each(reasons)('with the reason %s before the call sends nothing', async (reason) => {
		const { url, sockets } = await serve()
		await expect(send(url, init({ signal: AbortSignal.abort(reason) }))).rejects.toBe(reason)
		await settled()
		expect(sockets).toEqual([])
	})

	it.each(reasons)(
		'with the reason %s before the head rejects with it and closes the connection',
		async (reason) => {
			const controller = new AbortController()
			const { promise: arrived, resolve } = deferred<ServerResponse>()
			const { url } = await serve((_, response) => resolve(response))
			const asked = send(url, init({ signal: controller.signal }))
			const response = await arrived
			controller.abort(reason)
			await expect(asked).rejects.toBe(reason)
			if (!response.destroyed) await once(response, 'close')
		},
	)

	it.each(['text', 'json', 'arrayBuffer', 'blob'] as const)(
		'during %s rejects with the reason and closes the connection',
		async (how) => {
			const controller = new AbortController()
			const { url, held } = await serveHalf()
			const response = await send(url, init({ signal: controller.signal }))
			const reading = response[how]()
			const reason = new Error('too late')
			controller.abort(reason)
			await expect(reading).rejects.toBe(reason)
			if (!held[0]?.destroyed) await once(held[0] ?? process, 'close')
		},
	)

	it.each(reasonsInBody)('with the reason %s while the stream is read rejects with it', async (reason) => {
		const controller = new AbortController()
		const { url } = await serveHalf()
		const response = await send(url, init({ signal: controller.signal }))
		const reader = response.body?.getReader()
		expect((await reader?.read())?.value?.byteLength).toBe(4)
		const next = reader?.read()
		controller.abort(reason)
		await expect(next).rejects.toBe(reason)
	})

	it('while a compressed body is read rejects with the reason', async () => {
		const controller = new AbortController()
		const { url } = await serve((_, response) => {
			response
				.writeHead(200, { 'content-encoding': 'gzip' })
				.write(Buffer.from('1f8b0800000000000003', 'hex'))
		})
		const reading = (await send(url, init({ signal: controller.signal }))).text()
		await settled()
		const reason = new Error('too late')
		controller.abort(reason)
		await expect(reading).rejects.toBe(reason)
	})

	it.each(reasonsInBody)(
		'with the reason %s while the body is unread rejects a later read',
		async (reason) => {
			const controller = new AbortController()
			const { url } = await serveHalf()
			const response = await send(url, init({ signal: controller.signal }))
			controller.abort(reason)
			await settled()
			await expect(response.text()).rejects.toBe(reason)
		},
	)

	it('after the end changes nothing', async () => {
		const controller = new AbortController()
		const { url } = await serve()
		const response = await send(url, init({ signal: controller.signal }))
		expect(await response.text()).toBe('ok')
		controller.abort()
		await settled()
		expect(response.status).toBe(200)
		expect(await (await send(url, init())).text()).toBe('ok')
	})

	it('while a redirect is followed rejects with the reason', async () => {
		const controller = new AbortController()
		const reason = new Error('too late')
		const { url } = await serve(({ path }, response) => {
			if (path === '/') response.writeHead(302, { location: '/there' }).end()
			else controller.abort(reason)
		})
		await expect(send(url, init({ signal: controller.signal }))).rejects.toBe(reason)
	})
})

it.each(['GET', 'HEAD'])('a signal has no listener left after a %s over undici', async (method) => {
	const { signal } = new AbortController()
	const { url } = await serve(({ path }, response) => {
		if (path === '/') response.writeHead(302, { location: '/there' })
		response.end('ok')
	})
	const send = undiciTransport(undici)
	for (let i = 0; i < 20; i++) await (await send(url, init({ method, signal }))).text()
	await settled()
	expect(getEventListeners(signal, 'abort')).toEqual([])
})

describe('an abort that undici does not notice yet', () => {
	/** Aborts a request that waits in `dispatcher`. */
	async function abortWaiting(dispatcher: undici.Agent, url: string) {
		const controller = new AbortController()
		const asked = undiciTransport(undici, { dispatcher })(url, init({ signal: controller.signal }))
		await settled()
		const reason = new Error('too late')
		controller.abort(reason)
		await expect(asked).rejects.toBe(reason)
	}

	it('rejects immediately while connecting', async () => {
		const dispatcher = new undici.Agent({ connect: () => {} })
		await abortWaiting(dispatcher, 'http://127.0.0.1:1')
	})

	it('rejects immediately while the request waits for a connection, and never sends it', async () => {
		const dispatcher = new undici.Agent({ connections: 1 })
		onTestFinished(() => dispatcher.destroy())
		const { url, held, seen } = await serveHalf()
		const send = observableTransport(undici, { dispatcher })
		const first = await send(`${url}/first`, init())
		await abortWaiting(dispatcher, `${url}/waiting`)
		held[0]?.end('.'.repeat(96))
		await first.text()
		const third = await send(`${url}/third`, init())
		await third.drain()
		expect(seen.map(({ path }) => path)).not.toContain('/waiting')
	})
})
