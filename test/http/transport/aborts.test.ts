import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { describe, expect, it } from 'vitest'
import { deferred } from '../deferred.ts'
import { init, SENDERS, serve, settled } from './local-server.ts'

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

describe.each(SENDERS)('an abort over $name', ({ send }) => {
	// For a falsy reason, fetch creates its own error once there is a body.
	const reasonsInBody = reasons.slice(0, 2)

	it.each(reasons)('an abort with the reason %s before the call sends nothing', async (reason) => {
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

	it.each(reasonsInBody)(
		'an abort with the reason %s while the stream is read rejects with it',
		async (reason) => {
			const controller = new AbortController()
			const { url } = await serveHalf()
			const response = await send(url, init({ signal: controller.signal }))
			const reader = response.body?.getReader()
			expect((await reader?.read())?.value?.byteLength).toBe(4)
			const next = reader?.read()
			controller.abort(reason)
			await expect(next).rejects.toBe(reason)
		},
	)

	it('an abort while a compressed body is read rejects with the reason', async () => {
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

	it('an abort after the end changes nothing', async () => {
		const controller = new AbortController()
		const { url } = await serve()
		const response = await send(url, init({ signal: controller.signal }))
		expect(await response.text()).toBe('ok')
		controller.abort()
		await settled()
		expect(response.status).toBe(200)
		expect(await (await send(url, init())).text()).toBe('ok')
	})

	it('an abort while a redirect is followed rejects with the reason', async () => {
		const controller = new AbortController()
		const reason = new Error('too late')
		const { url } = await serve(({ path }, response) => {
			if (path === '/') response.writeHead(302, { location: '/there' }).end()
			else controller.abort(reason)
		})
		await expect(send(url, init({ signal: controller.signal }))).rejects.toBe(reason)
	})
})
