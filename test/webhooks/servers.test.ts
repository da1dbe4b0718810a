/** Receivers on the real frameworks, each over a socket. */
import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import { connect } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import express from 'express'
// @ts-expect-error: the types of Express 5 describe what is used here.
import express4 from 'express-4'
import fastify, { type FastifyInstance } from 'fastify'
import { Hono } from 'hono'
import { describe, expect, onTestFinished, test } from 'vitest'
import { signWebhook, verifyWebhook, type WebhookRequest, WebhookVerificationError } from 'yaoki/webhooks'
import { listen } from '../support/listen.ts'
import { SECRET } from './support.ts'

/** Has white space that `JSON.stringify` would not write, and characters of several bytes. */
const BODY = '{ "type": "invoice.paid", "data": {"name": "Žofie 🙂", "amount": 10.0} }'

const receive = async (request: WebhookRequest) => {
	const { id, body } = await verifyWebhook(request, SECRET, { maxBodyBytes: 10_000 })
	return { id, bytes: body.length }
}
const problemOf = (error: unknown): readonly [status: number, problem: object] => {
	if (!(error instanceof WebhookVerificationError)) throw error
	return [error.statusCode, { reason: error.reason }]
}

/** Starts a server. Returns its URL. */
async function started(server: Server): Promise<string> {
	const port = await listen(server)
	onTestFinished(() => {
		server.closeAllConnections()
		server.close()
	})
	return `http://127.0.0.1:${port}/webhooks`
}

type ExpressApp = ReturnType<typeof express>

/** The handler is the one of the guide. */
const expressServer =
	(create: typeof express) =>
	(prepare: (app: ExpressApp, express: typeof create) => void): Promise<string> => {
		const app = create()
		app.set('env', 'test')
		prepare(app, create)
		app.post('/webhooks', (req, res) => {
			receive(req).then(
				(received) => res.json(received),
				(error: unknown) => {
					const [status, problem] = problemOf(error)
					res.status(status).json(problem)
				},
			)
		})
		return started(createServer(app as RequestListener))
	}

async function send(
	url: string,
	body: string | Uint8Array<ArrayBuffer> = BODY,
	more: Record<string, string> = {},
) {
	const headers = await signWebhook({ id: 'msg_1', body }, SECRET)
	const init = { method: 'POST', headers: { 'content-type': 'application/json', ...headers, ...more }, body }
	const response = await fetch(url, init)
	return [response.status, await response.json()]
}

const RECEIVED = [200, { id: 'msg_1', bytes: Buffer.byteLength(BODY) }]

describe.each([
	['Express 5', expressServer(express)],
	['Express 4', expressServer(express4 as typeof express)],
])('%s', (_, server) => {
	test('reads the body without a parser', async () => {
		expect(await send(await server(() => {}))).toEqual(RECEIVED)
	})

	test('takes the bytes of express.raw()', async () => {
		const url = await server((app, { raw }) => {
			app.use('/webhooks', raw({ type: 'application/json' }))
		})
		expect(await send(url)).toEqual(RECEIVED)
	})

	test('reads the body if express.raw() is for another type', async () => {
		const url = await server((app, { raw }) => {
			app.use('/webhooks', raw({ type: 'application/xml' }))
		})
		expect(await send(url)).toEqual(RECEIVED)
	})

	test('takes the text of express.text()', async () => {
		const url = await server((app, { text }) => {
			app.use(text({ type: '*/*' }))
		})
		expect(await send(url)).toEqual(RECEIVED)
	})

	test('takes rawBody that verify of express.json() has kept', async () => {
		const url = await server((app, { json }) => {
			app.use(json({ verify: (req, _res, bytes) => Object.assign(req, { rawBody: bytes }) }))
		})
		expect(await send(url)).toEqual(RECEIVED)
	})

	test('names the mistake if express.json() ran before', async () => {
		const url = await server((app, { json }) => {
			app.use(json())
		})
		expect(await send(url)).toEqual([500, { reason: 'body-parsed' }])
	})

	test('accepts an empty body', async () => {
		for (const prepare of [() => {}, (app: ExpressApp) => app.use(express.raw({ type: '*/*' }))])
			expect(await send(await server(prepare), '')).toEqual([200, { id: 'msg_1', bytes: 0 }])
	})

	test('rejects a large body and still responds', async () => {
		const url = await server(() => {})
		expect(await send(url, 'x'.repeat(1_000_000))).toEqual([413, { reason: 'body-too-large' }])
		expect(await send(url)).toEqual(RECEIVED)
	})

	test('rejects a changed body', async () => {
		const headers = await signWebhook({ id: 'msg_1', body: BODY }, SECRET)
		const url = await server(() => {})
		const response = await fetch(url, { method: 'POST', headers, body: BODY.replace('10.0', '99.0') })
		expect([response.status, await response.json()]).toEqual([401, { reason: 'invalid-signature' }])
	})
})

describe('Fastify', () => {
	async function start(prepare: (app: FastifyInstance) => void = () => {}): Promise<string> {
		const app = fastify({ forceCloseConnections: true })
		onTestFinished(() => app.close())
		prepare(app)
		app.post('/webhooks', (request) => receive(request))
		return `${await app.listen({ port: 0, host: '127.0.0.1' })}/webhooks`
	}
	const raw = (app: FastifyInstance) =>
		app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) =>
			done(null, body),
		)

	test('takes the bytes of a content type parser', async () => {
		expect(await send(await start(raw))).toEqual(RECEIVED)
	})

	test('sends the status of a rejection by itself', async () => {
		const [status, problem] = await send(await start(raw), BODY, { 'webhook-id': 'msg_2' })
		expect([status, problem]).toEqual([401, expect.objectContaining({ code: 'YAOKI_WEBHOOK_VERIFICATION' })])
	})

	test('names the mistake if the body was parsed', async () => {
		const [status, problem] = await send(await start())
		expect(status).toBe(500)
		expect(problem).toMatchObject({ message: expect.stringContaining("parseAs 'buffer'") })
	})
})

describe('Hono', () => {
	async function start(prepare: (app: Hono) => void = () => {}): Promise<string> {
		const app = new Hono()
		prepare(app)
		app.post('/webhooks', async (c) => c.json(await receive(c.req.raw)))
		app.onError((error) => {
			const [status, problem] = problemOf(error)
			return Response.json(problem, { status })
		})
		return started(createServer(getRequestListener(app.fetch)))
	}

	test('reads the raw request', async () => {
		expect(await send(await start())).toEqual(RECEIVED)
	})

	test('names the mistake if the body was read before', async () => {
		const url = await start((app) => {
			app.use(async (c, next) => {
				await c.req.json()
				await next()
			})
		})
		expect(await send(url)).toEqual([500, { reason: 'body-used' }])
	})

	test('rejects a large body', async () => {
		const url = await start()
		expect(await send(url, 'x'.repeat(100_000))).toEqual([413, { reason: 'body-too-large' }])
	})
})

describe('node:http', () => {
	const start = (onError: (error: unknown) => void = () => {}): Promise<string> =>
		started(
			createServer((req, res) => {
				const respond = (status: number, value: object) => res.writeHead(status).end(JSON.stringify(value))
				receive(req).then(
					(received) => respond(200, received),
					(error: unknown) => {
						onError(error)
						respond(...problemOf(error))
					},
				)
			}),
		)

	test('reads the request', async () => {
		expect(await send(await start())).toEqual(RECEIVED)
	})

	test('rejects bodies of 100 MB after the limit, and the connection stays usable', async () => {
		const url = await start()
		const chunk = new Uint8Array(1_048_576)
		let sent = 0
		const body = new ReadableStream({
			pull(controller) {
				controller.enqueue(chunk)
				if (++sent === 100) controller.close()
			},
		})
		const headers = await signWebhook({ id: 'msg_1', body: BODY }, SECRET)
		const init = { method: 'POST', headers, body, duplex: 'half' } as RequestInit
		const response = await fetch(url, init)
		expect([response.status, await response.json()]).toEqual([413, { reason: 'body-too-large' }])
		expect(await send(url)).toEqual(RECEIVED)
	})

	test('half a request is incomplete', async () => {
		const failed = Promise.withResolvers<unknown>()
		const { port } = new URL(await start(failed.resolve))
		const headers = Object.entries(await signWebhook({ id: 'msg_1', body: BODY }, SECRET))
		const socket = connect(Number(port), '127.0.0.1')
		await once(socket, 'connect')
		const lines = ['POST /webhooks HTTP/1.1', 'host: localhost', 'content-length: 100']
		const head = [...lines, ...headers.map((pair) => pair.join(': ')), '', '']
		socket.write(`${head.join('\r\n')}{ "type"`, () => socket.resetAndDestroy())
		expect(await failed.promise).toMatchObject({ reason: 'body-incomplete', statusCode: 400 })
	})
})
