import { Agent, get, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createHttp2Server } from 'node:http2'
import { describe, expect, onTestFinished, test } from 'vitest'
import { nodeServerContext } from '../../../src/http/server/node-handler.ts'
import type { ServerContext } from '../../../src/http/server/options.ts'
import { createServerContext } from '../../../src/http/server/server-context.ts'
import { deferred } from '../deferred.ts'
import { connected } from './http2-client.ts'
import { listening } from './servers.ts'

/** One connection for all requests, as long as the test lasts. */
function oneConnection(): Agent {
	const agent = new Agent({ keepAlive: true, maxSockets: 1 })
	onTestFinished(() => agent.destroy())
	return agent
}

/** Sends a request and waits until its response has been read. */
const asked = (url: string, agent: Agent): Promise<void> =>
	new Promise((resolve, reject) => {
		get(url, { agent }, (response) => response.resume().on('end', resolve)).on('error', reject)
	})

async function serving(
	handler: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<string> {
	const { url, close } = await listening(handler)
	onTestFinished(close)
	return url
}

/** The reason of a signal, once it has been aborted. */
const reasonOf = ({ signal }: ServerContext): Promise<unknown> => {
	const aborted = deferred<unknown>()
	if (signal.aborted) aborted.resolve(signal.reason)
	signal.addEventListener('abort', () => aborted.resolve(signal.reason))
	return aborted.promise
}

describe("a context of Node's request alone", () => {
	test('is aborted when the connection closes', async () => {
		const made = deferred<ServerContext>()
		const url = await serving((request) => made.resolve(createServerContext(request)))
		const client = get(url).on('error', () => undefined)
		const reason = reasonOf(await made.promise)
		client.destroy()
		expect(await reason).toMatchObject({ name: 'AbortError', message: 'The client has disconnected' })
	})

	test('is aborted if its signal is first read after the connection has closed', async () => {
		const arrived = deferred<IncomingMessage>()
		const url = await serving((request) => arrived.resolve(request))
		const client = get(url).on('error', () => undefined)
		const request = await arrived.promise
		const closed = new Promise((resolve) => request.socket.once('close', resolve))
		client.destroy()
		await closed
		expect(createServerContext(request).signal.aborted).toBe(true)
	})

	test('adds one listener per connection, however many requests it carries', async () => {
		const contexts: ServerContext[] = []
		const listeners: number[] = []
		const url = await serving((request, response) => {
			const context = createServerContext(request)
			contexts.push(context)
			expect(context.signal.aborted).toBe(false)
			listeners.push(request.socket.listenerCount('close'))
			response.end()
		})
		const agent = oneConnection()
		for (let i = 0; i < 20; i++) await asked(url, agent)
		expect(new Set(listeners).size).toBe(1)
		agent.destroy()
		const [first] = contexts
		const last = contexts.at(-1)
		if (last) await reasonOf(last)
		expect(first?.signal.aborted).toBe(false)
	})
})

describe("a context with Node's response", () => {
	test('is not aborted when the connection closes after the response', async () => {
		const made: { context: ServerContext; request: IncomingMessage }[] = []
		const url = await serving((request, response) => {
			const context = createServerContext(request, { response })
			expect(context.signal.aborted).toBe(false)
			made.push({ context, request })
			response.end()
		})
		const agent = oneConnection()
		await asked(url, agent)
		const [only] = made
		const closed = new Promise((resolve) => only?.request.socket.once('close', resolve))
		agent.destroy()
		await closed
		expect(only?.context.signal.aborted).toBe(false)
	})

	test('is aborted if the client had disconnected before', async () => {
		const arrived = deferred<[IncomingMessage, ServerResponse]>()
		const url = await serving((request, response) => arrived.resolve([request, response]))
		const client = get(url).on('error', () => undefined)
		const [request, response] = await arrived.promise
		const closed = new Promise((resolve) => response.once('close', resolve))
		client.destroy()
		await closed
		expect(createServerContext(request, { response }).signal.aborted).toBe(true)
	})
})

describe('a request over HTTP/2', () => {
	/** A server for one client that passes on the context of every request. */
	async function session(handler: (context: ServerContext, end: () => void) => void) {
		const server = createHttp2Server(
			nodeServerContext((_request, response, context) => handler(context, () => response.end('done'))),
		)
		return connected(server)
	}

	test('is aborted with its stream, and not after its response', async () => {
		const contexts: ServerContext[] = []
		const second = deferred()
		const client = await session((context, end) => {
			expect(context.signal.aborted).toBe(false)
			contexts.push(context)
			if (contexts.length === 1) end()
			else second.resolve()
		})
		const answered = client.request({ ':path': '/' })
		await new Promise((resolve) => answered.resume().on('close', resolve))
		const dropped = client.request({ ':path': '/' })
		await second.promise
		dropped.close(8)
		const [first, last] = contexts
		if (last) await reasonOf(last)
		expect(last?.signal.aborted).toBe(true)
		expect(first?.signal.aborted).toBe(false)
	})

	test('a request over HTTP/2 with an expired deadline is answered with 504', async () => {
		const client = await session(() => expect.unreachable())
		const late = client.request({ ':path': '/', 'grpc-timeout': '0n' })
		const status = await new Promise((resolve) => late.on('response', (head) => resolve(head[':status'])))
		expect(status).toBe(504)
		late.resume()
	})
})
