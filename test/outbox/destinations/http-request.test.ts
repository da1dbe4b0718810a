/** What `httpDestination` sends: its functions of the message, its method, and requests through a dispatcher. */
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:https'
import type { TLSSocket } from 'node:tls'
import * as undici from 'undici'
import * as undici7 from 'undici-7'
import { describe, expect, onTestFinished, test } from 'vitest'
import { classify } from 'yaoki'
import {
	type DeliveryContext,
	type HttpDestinationOptions,
	httpDestination,
	type Message,
} from 'yaoki/outbox'
import { makeCertificate } from '../../http/faults/certificate.ts'
import { startFaultServer } from '../../http/faults/fault-server.ts'
import { eventually } from '../../support/eventually.ts'
import { listen } from '../../support/listen.ts'
import { setup } from '../relay/setup.ts'

const MESSAGE: Message = {
	id: '019b76db-1d30-709f-b51c-77633ed7a20f',
	topic: 'order.created',
	destination: 'billing',
	key: undefined,
	sequence: 41,
	payload: { total: 1.5, name: '注文 "ü"' },
	headers: {},
	attempts: 1,
	createdAt: new Date(0),
	expiresAt: undefined,
}
const context = (signal = new AbortController().signal): DeliveryContext => ({ signal, attempt: 0 })

const deliver = async (options: HttpDestinationOptions, signal?: AbortSignal) =>
	httpDestination(options).deliver(MESSAGE, context(signal))

const failure = (sent: Promise<unknown>): Promise<unknown> =>
	sent.then(
		() => undefined,
		(error: unknown) => error,
	)

test('url and headers may be asynchronous, and a signature of the body fits what is received', async () => {
	await using server = await startFaultServer()
	const sign = (body: Uint8Array | string) => createHmac('sha256', 'key').update(body).digest('hex')
	await deliver({
		url: async ({ topic }) => `${server.origin}/${topic}`,
		headers: async (_, body) => ({ 'x-signature': sign(body) }),
	})
	const [request] = server.requests
	expect(request?.path).toBe('/order.created')
	expect(JSON.parse(request?.body ?? '')).toEqual(MESSAGE.payload)
	expect(request?.headers['x-signature']).toBe(sign(request?.body ?? ''))
	expect(request?.headers['content-length']).toBe(String(Buffer.byteLength(request?.body ?? '')))
})

test('the body that headers gets is the object that is sent', async () => {
	const bodies: unknown[] = []
	await deliver({
		url: 'http://nowhere.test/x',
		headers: (_, body) => {
			bodies.push(body)
			return {}
		},
		fetch: async (_, { body }) => {
			bodies.push(body)
			return new Response()
		},
	})
	expect(bodies[0]).toBeInstanceOf(Uint8Array)
	expect(bodies[1]).toBe(bodies[0])
})

test.each(['POST', 'PUT', 'PATCH', 'DELETE'] as const)(
	'sends %s requests with the payload',
	async (method) => {
		await using server = await startFaultServer()
		await deliver({ url: server.url(), method })
		expect(server.requests[0]).toMatchObject({ method, body: JSON.stringify(MESSAGE.payload) })
	},
)

describe.each(['url', 'headers'] as const)('a function %s', (name) => {
	const options = (work: () => never): HttpDestinationOptions => ({
		url: 'http://nowhere.test/',
		[name]: work,
	})

	test('that throws or rejects fails the attempt with its error', async () => {
		const broken = new Error('no token')
		const rejects: unknown = () => Promise.reject(broken)
		const throws = (): never => {
			throw broken
		}
		expect(await failure(deliver(options(throws)))).toBe(broken)
		expect(await failure(deliver(options(rejects as () => never)))).toBe(broken)
		expect(classify(broken).kind).toBe('transient')
	})

	test('that hangs ends with the abort of the delivery', async () => {
		const hangs: unknown = () => new Promise(() => {})
		const controller = new AbortController()
		const sent = failure(deliver(options(hangs as () => never), controller.signal))
		const reason = new Error('enough')
		controller.abort(reason)
		expect(await sent).toBe(reason)
	})

	test('that hangs times out with the relay, and its slot is free again', async () => {
		await using server = await startFaultServer()
		await using system = await setup()
		await system.enqueue(1)
		let calls = 0
		const hangsOnce = async () => {
			calls += 1
			if (calls === 1) await new Promise(() => {})
			return name === 'url' ? server.url() : {}
		}
		const destination = httpDestination({
			url: server.url(),
			[name]: hangsOnce,
			timeoutMs: 5_000,
			maxConcurrent: 1,
			retry: { baseDelayMs: 1, jitterStrategy: 'none' },
		})
		await system.relay({ jobs: destination })
		await eventually(async () => {
			await system.clock.advance(100)
			expect(system.eventsOf('relay_sent')).toMatchObject([{ attempts: 2 }])
		})
		expect(system.eventsOf('relay_retry_scheduled')).toMatchObject([{ errorType: 'TimeoutError' }])
	})
})

test.each<[string, unknown]>([
	['is relative', '/orders'],
	['has another protocol', 'ftp://a/b'],
	['is undefined', undefined],
	['has credentials', 'https://ann:s3cret@example.com/'],
])('a URL of one message that %s is permanent for this message', async (_, url) => {
	const error = await failure(deliver({ url: async () => url as string }))
	expect(error).toMatchObject({ code: 'YAOKI_INVALID_OPTION', optionPath: 'url(message)' })
	expect(String(error)).not.toContain('s3cret')
	expect(classify(error).kind).toBe('permanent')
})

test.each([['text'], [undefined], [{ 'x-a': undefined }], [['x-a', 'b']]])(
	'headers that a function returns as %o fail the attempt',
	async (headers) => {
		const given: unknown = headers
		const sent = deliver({ url: 'http://nowhere.test/', headers: () => given as Record<string, string> })
		expect(await failure(sent)).toMatchObject({ optionPath: 'headers(message, body)', received: headers })
	},
)

test('a relay sends the other messages if the URL of one is invalid', async () => {
	await using server = await startFaultServer()
	await using system = await setup()
	const [wrong = ''] = await system.enqueue(3)
	const url = ({ id }: Message) => (id === wrong ? 'nowhere' : server.url())
	await system.relay({ jobs: httpDestination({ url }) }, { timeoutMs: 3_600_000 })
	await eventually(async () => {
		await system.clock.advance(1)
		expect(system.eventsOf('relay_sent')).toHaveLength(2)
	})
	expect(await system.outbox.find(wrong)).toMatchObject({ status: 'dead', cause: 'permanent', attempts: 1 })
})

describe.each([
	['undici 8', undici],
	['undici 7', undici7],
])('with a dispatcher of %s', (_, { Agent, fetch }) => {
	/** A server that accepts only clients with the given certificate. */
	async function startServer(): Promise<{
		url: string
		ca: string
		cert: string
		key: string
		seen: string[]
	}> {
		const [server, client] = [makeCertificate(), makeCertificate()]
		const seen: string[] = []
		const receiver = createServer({ ...server, ca: client.cert, requestCert: true, rejectUnauthorized: true })
		receiver.on('request', (request, response) => {
			const { fingerprint256 } = (request.socket as TLSSocket).getPeerCertificate()
			seen.push(fingerprint256)
			request.resume().on('end', () => response.end())
		})
		receiver.on('tlsClientError', () => {})
		const port = await listen(receiver)
		onTestFinished(async () => {
			receiver.close()
			receiver.closeAllConnections()
			await once(receiver, 'close')
		})
		return { url: `https://127.0.0.1:${port}/`, ca: server.cert, ...client, seen }
	}

	test('sends the client certificate', async () => {
		const { url, ca, cert, key, seen } = await startServer()
		await using dispatcher = disposable(new Agent({ connect: { ca, cert, key } }))
		await deliver({ url, dispatcher, fetch })
		expect(seen).toHaveLength(1)
		expect(seen[0]).toMatch(/^[0-9A-F:]{95}$/)
	})

	test('the server rejects the request without the client certificate', async () => {
		const { url, ca, seen } = await startServer()
		await using dispatcher = disposable(new Agent({ connect: { ca } }))
		await expect(deliver({ url, dispatcher, fetch })).rejects.toThrow()
		expect(seen).toEqual([])
	})
})

/** Destroys a dispatcher at the end of a test. */
const disposable = <D extends { destroy(): Promise<void> }>(dispatcher: D): D & AsyncDisposable =>
	Object.assign(dispatcher, { [Symbol.asyncDispose]: () => dispatcher.destroy() })
