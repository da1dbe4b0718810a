/** A proxy that does not establish a tunnel: the request itself was never sent. */
import { createServer } from 'node:http'
import type { Socket } from 'node:net'
import * as undici from 'undici'
import { describe, expect, onTestFinished, test } from 'vitest'
import { classify } from 'yaoki'
import { ResilientHttpClient } from 'yaoki/http'
import { listen } from '../../support/listen.ts'
import { failure, virtualTime } from '../client/setup.ts'

/** A client whose proxy responds to CONNECT with this status, or closes the connection. Returns what counts its requests. */
async function behindProxy(status: number | undefined) {
	let tunnels = 0
	const server = createServer()
	server.on('connect', (_, socket: Socket) => {
		tunnels++
		if (status === undefined) socket.destroy()
		else socket.end(`HTTP/1.1 ${status} Rejected\r\ncontent-length: 0\r\n\r\n`)
	})
	const port = await listen(server)
	const dispatcher = new undici.ProxyAgent(`http://127.0.0.1:${port}`)
	onTestFinished(async () => {
		await dispatcher.destroy()
		server.close()
	})
	const fetch = (url: unknown, init: object) => undici.fetch(String(url), { ...init, dispatcher })
	const client = new ResilientHttpClient({
		fetch: fetch as unknown as typeof globalThis.fetch,
		runtime: virtualTime().runtime,
		maxRetries: 2,
	})
	return { client, tunnels: () => tunnels }
}

describe('a failed CONNECT', () => {
	test.each([[502], [503], [undefined]])(
		'a failed CONNECT with status %s is retried, also for a POST',
		async (status) => {
			const { client, tunnels } = await behindProxy(status)
			await failure(client.post('https://api.example.com/orders', { body: '1 tea' }))
			expect(tunnels()).toBe(3)
		},
	)

	test('a failed CONNECT with status 407 is permanent', async () => {
		const { client, tunnels } = await behindProxy(407)
		const error = await failure(client.get('https://api.example.com/orders'))
		expect(classify(error)).toMatchObject({ kind: 'permanent', isKnown: true })
		expect(tunnels()).toBe(1)
	})

	test('a failed CONNECT of an agent of Node is classified by its status', () => {
		const of = (status: number) => {
			const message = `Failed to establish tunnel to a:443 via http://b:3128: HTTP/1.1 ${status} Rejected`
			return Object.assign(new Error(message), { code: 'ERR_PROXY_TUNNEL' })
		}
		expect(classify(of(407))).toMatchObject({ kind: 'permanent', isKnown: true })
		expect(classify(of(502)).kind).toBe('transient')
	})
})
