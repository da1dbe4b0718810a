import { Agent, request, fetch as undiciFetch } from 'undici'
import { describe, expect, it } from 'vitest'
import { CONNECT_ERRORS, HTTP1_ERRORS, HTTP2_ERRORS, type Thrown } from './client-errors.ts'
import { refusedUrl, startFaultServer, startTlsFaultServer } from './fault-server.ts'
import { answerStream, refuseStream, startHttp2Server } from './http2-server.ts'
import { type Ending, ending, expectError, expectFetchError } from './thrown.ts'

interface Client {
	send(url: string, dispatcher: Agent, body?: string): Promise<Ending>
	expectError(end: Ending, thrown: Thrown): void
}

const posting = (body?: string) => (body === undefined ? {} : { method: 'POST', body })

const FETCH: Client = {
	send: (url, dispatcher, body) =>
		ending(async () => {
			const response = await undiciFetch(url, { dispatcher, ...posting(body) })
			return () => response.text()
		}),
	expectError: expectFetchError,
}
const REQUEST: Client = {
	send: (url, dispatcher, body) =>
		ending(async () => {
			const response = await request(url, { dispatcher, ...posting(body) })
			return () => response.body.text()
		}),
	expectError: ({ error }, thrown) => expectError(error, thrown),
}

// An Agent takes it only here; its types know it only under `h2Options`, where it has no effect.
const PLAIN_HTTP2 = { allowH2: true, useH2c: true }

function agent(options: Agent.Options = {}) {
	const dispatcher = new Agent(options)
	return { dispatcher, [Symbol.asyncDispose]: () => dispatcher.destroy() }
}

describe.each([
	['fetch', FETCH],
	['request', REQUEST],
] as const)("undici's %s", (name, client) => {
	it.each(Object.entries(HTTP1_ERRORS))(
		'throws as the table says: %s',
		async (_fault, { step, at, thrown }) => {
			await using server = await startFaultServer(step)
			await using own = agent()
			const end = await client.send(server.url(), own.dispatcher)
			expect(end.at).toBe(at)
			client.expectError(end, thrown)
			// Neither of them sends a request of HTTP/1 again.
			expect(server.connections.opened).toBe(1)
		},
	)

	it('throws as the table says if there is no server, or none with TLS', async () => {
		await using cut = await startTlsFaultServer('reset')
		await using closed = await startTlsFaultServer('fin')
		await using own = agent()
		client.expectError(await client.send(await refusedUrl(), own.dispatcher), CONNECT_ERRORS.refused)
		client.expectError(await client.send(cut.url(), own.dispatcher), CONNECT_ERRORS.tlsReset)
		client.expectError(await client.send(closed.url(), own.dispatcher), CONNECT_ERRORS.tlsFin)
	})

	describe.each([true, false])('with HTTP/2 (tls: %s)', (tls) => {
		it.each(Object.entries(HTTP2_ERRORS))('throws as the table says: %s', async (_fault, row) => {
			await using server = await startHttp2Server(row.script, { tls })
			await using own = agent(tls ? { allowH2: true, connect: { ca: server.ca } } : PLAIN_HTTP2)
			const end = await client.send(server.url(), own.dispatcher)
			if (row.thrown === 'fine') expect(end.text).toBeTypeOf('string')
			else client.expectError(end, row.thrown)
			if (row.thrown !== 'fine') expect(end.at).toBe(row.at)
			expect(server.requests).toHaveLength(row.streams)
		})
	})

	it('sends a refused POST again by itself only in `request`', async () => {
		await using server = await startHttp2Server([refuseStream(), answerStream()])
		await using own = agent({ allowH2: true, connect: { ca: server.ca } })
		await client.send(server.url(), own.dispatcher, 'an order')
		expect(server.requests.map(({ body }) => body)).toHaveLength(name === 'request' ? 2 : 1)
	})
})

describe("Node's fetch", () => {
	it('cannot use a dispatcher of undici 8', async () => {
		await using server = await startFaultServer()
		await using own = agent()
		const end = await ending(async () => {
			const init: RequestInit = Object.assign({ method: 'GET' }, { dispatcher: own.dispatcher })
			const response = await fetch(server.url(), init)
			return () => response.text()
		})
		const thrown = { name: 'InvalidArgumentError', code: 'UND_ERR_INVALID_ARG' }
		expectFetchError(end, { ...thrown, message: /^invalid onRequestStart method$/ })
	})
})
