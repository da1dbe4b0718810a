/** The same small service on every framework, on a real socket, so that one suite tests all of them. */
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { fastifyServerContext } from '../../../src/http/server/fastify.ts'
import { fetchServerContext } from '../../../src/http/server/fetch-handler.ts'
import { honoServerContext } from '../../../src/http/server/hono.ts'
import { expressServerContext, nodeServerContext } from '../../../src/http/server/node-handler.ts'
import type { ServerContext, ServerMiddlewareOptions } from '../../../src/http/server/options.ts'
import { getServerContext } from '../../../src/http/server/server-context.ts'

/** The service: receives the context of its request and the posted JSON, and returns a status. */
export type Service = (context: ServerContext | undefined, posted: unknown) => number | Promise<number>

export interface Running {
	readonly url: string
	close(): Promise<void>
}

export type Start = (service: Service, options?: ServerMiddlewareOptions) => Promise<Running>

/** Listens on a port of the system's choice. */
export function listening(listener: RequestListener): Promise<Running> {
	const server = createServer(listener)
	return new Promise((resolve) => {
		server.listen(0, '127.0.0.1', () => {
			const address = server.address()
			const port = typeof address === 'object' ? address?.port : undefined
			resolve({
				url: `http://127.0.0.1:${port}/`,
				close: () =>
					new Promise((closed) => {
						server.close(() => closed())
						server.closeAllConnections()
					}),
			})
		})
	})
}

/** A minimal conversion between Node's and web requests; aborted when the client disconnects. */
function bridged(handler: (request: Request) => Response | Promise<Response>): RequestListener {
	const answer = async (incoming: IncomingMessage, outgoing: ServerResponse) => {
		const client = new AbortController()
		outgoing.once('close', () => {
			if (!outgoing.writableFinished) client.abort()
		})
		const { method = 'GET' } = incoming
		const headers = Object.entries(incoming.headersDistinct).flatMap(([name, values = []]) =>
			values.map((value): [string, string] => [name, value]),
		)
		const body = method === 'POST' ? { body: await text(incoming) } : {}
		const url = `http://${incoming.headers.host}${incoming.url}`
		const response = await handler(new Request(url, { method, headers, signal: client.signal, ...body }))
		outgoing.writeHead(response.status, Object.fromEntries(response.headers))
		outgoing.end(await response.text())
	}
	return (incoming, outgoing) => {
		answer(incoming, outgoing).catch(() => outgoing.destroy())
	}
}

const startNode: Start = (service, options) =>
	listening(
		nodeServerContext(async (request, response, context) => {
			const posted = await text(request)
			response.statusCode = await service(context, posted ? JSON.parse(posted) : undefined)
			response.end('done')
		}, options),
	)

const startFetch: Start = (service, options) =>
	listening(
		bridged(
			fetchServerContext(async (request, context) => {
				const posted = await request.text()
				return new Response('done', {
					status: await service(context, posted ? JSON.parse(posted) : undefined),
				})
			}, options),
		),
	)

const startExpress: Start = (service, options) => {
	const app = express()
	app.use(expressServerContext(options))
	app.use(express.json())
	app.all('/', async (req, res) => {
		res.status(await service(getServerContext(req), req.body)).send('done')
	})
	app.use((_error: unknown, _req: express.Request, res: express.Response, _next: express.NextFunction) => {
		res.status(500).send('failed')
	})
	return listening(app)
}

const startFastify: Start = async (service, options) => {
	const app = fastify({ forceCloseConnections: true })
	await app.register(fastifyServerContext(options))
	app.all('/', async (request, reply) => {
		reply.code(await service(getServerContext(request), request.body ?? undefined))
		return 'done'
	})
	const url = await app.listen({ port: 0, host: '127.0.0.1' })
	return { url: `${url}/`, close: () => app.close() }
}

const startHono: Start = (service, options) => {
	const app = new Hono()
	app.use(honoServerContext(options))
	app.onError((_error, c) => c.text('failed', 500))
	app.all('/', async (c) => {
		const posted = c.req.method === 'POST' ? await c.req.json() : undefined
		return new Response('done', { status: await service(getServerContext(c), posted) })
	})
	return listening(bridged((request) => app.fetch(request)))
}

export const servers: readonly (readonly [name: string, start: Start])[] = [
	['node:http', startNode],
	['a fetch handler', startFetch],
	['Express', startExpress],
	['Fastify', startFastify],
	['Hono', startHono],
]

/** The servers that respond for a throwing handler. */
export const catching: readonly (readonly [name: string, start: Start])[] = servers.slice(2)
