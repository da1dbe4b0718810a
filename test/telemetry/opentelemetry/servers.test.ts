/** Spans of incoming requests on real servers, over loopback, with the real SDK. */
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { getRequestListener } from '@hono/node-server'
import * as otel from '@opentelemetry/api'
import express from 'express'
// @ts-expect-error: the types of Express 5 describe what is used here.
import express4 from 'express-4'
import fastify from 'fastify'
import { Hono } from 'hono'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { nodeServerContext, resilientFetch } from 'yaoki/http'
import { type OpenTelemetryServer, observe, openTelemetry } from 'yaoki/telemetry'
import { eventually } from '../../support/eventually.ts'
import { listen } from '../../support/listen.ts'
import { idOf, parentOf, type Sdk, startSdk } from './sdk.ts'

let sdk: Sdk
beforeEach(() => {
	sdk = startSdk()
})
afterEach(() => sdk.stop())

/** What a request does after its body was read. Returns the status. */
type Handle = (id: string) => Promise<number>

/** Runs around everything that a server does for a request, as an instrumentation of node:http does. */
type Instrument = (listener: RequestListener) => RequestListener

/** Starts a server with the route `/users/:id` and returns its URL. */
type Start = (server: OpenTelemetryServer, handle: Handle, instrument?: Instrument) => Promise<string>

async function onNode(listener: RequestListener, instrument?: Instrument): Promise<string> {
	const server = createServer(instrument?.(listener) ?? listener)
	onTestFinished(() => {
		server.closeAllConnections()
		server.close()
	})
	return `http://127.0.0.1:${await listen(server)}`
}

const idIn = (url = ''): string => url.split(/[/?]/)[2] ?? ''

const onExpress =
	(create: typeof express): Start =>
	(server, handle, instrument) => {
		const app = create()
		app.use(server.express)
		app.use(express.json())
		const users = create.Router()
		users.all('/:id', (request, response, next) => {
			handle(request.params.id).then((status) => response.status(status).end(), next)
		})
		app.use('/users', users)
		// Express writes the error to the console without a handler.
		app.use((_error: unknown, _: express.Request, response: express.Response, _next: () => void) => {
			response.status(500).end()
		})
		return onNode(app as RequestListener, instrument)
	}

const servers: Readonly<Record<string, Start>> = {
	'node:http': (server, handle, instrument) =>
		onNode(
			server.node(
				nodeServerContext(async (request, response) => {
					await text(request)
					response.statusCode = await handle(idIn(request.url))
					response.end()
				}),
			),
			instrument,
		),
	'Express 5': onExpress(express),
	'Express 4': onExpress(express4 as typeof express),
	async Fastify(server, handle, instrument) {
		const app = fastify({
			forceCloseConnections: true,
			serverFactory: (listener) => createServer(instrument?.(listener) ?? listener),
		})
		await app.register(server.fastify)
		app.all<{ Params: { id: string } }>('/users/:id', async (request, reply) => {
			return reply.code(await handle(request.params.id)).send()
		})
		onTestFinished(() => app.close())
		return app.listen({ port: 0, host: '127.0.0.1' })
	},
	Hono(server, handle, instrument) {
		const app = new Hono()
		app.use(server.hono)
		app.onError((_, c) => c.text('failed', 500))
		app.all('/users/:id', async (c) => {
			await c.req.text()
			return new Response(null, { status: await handle(c.req.param('id')) })
		})
		return onNode(getRequestListener(app.fetch), instrument)
	},
	fetch(server, handle, instrument) {
		const fetch = server.fetch(async (request) => {
			await request.text()
			return new Response(null, { status: await handle(idIn(new URL(request.url).pathname)) })
		})
		const errorHandler = () => new Response(null, { status: 500 })
		return onNode(getRequestListener(fetch, { errorHandler }), instrument)
	},
}

const HAS_ROUTE = new Set(['Express 5', 'Express 4', 'Fastify'])

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c'
const CALLER = 'b7ad6b7169203331'
const traced = { traceparent: `00-${TRACE_ID}-${CALLER}-01` }

const serverSpans = () => sdk.spans().filter(({ kind }) => kind === otel.SpanKind.SERVER)

/** The span of the only request. It ends after the client has received the response. */
const serverSpan = () =>
	eventually(() => {
		const [span, ...others] = serverSpans()
		expect(others).toEqual([])
		if (!span) throw new Error('the span has not ended')
		return span
	})

describe.each(Object.entries(servers))('%s', (name, start) => {
	test('a request is a span in the trace of its caller, and calls inside are its children', async () => {
		const sent: Headers[] = []
		const client = resilientFetch({
			fetch: async (_, init) => {
				sent.push(new Headers(init?.headers))
				return new Response()
			},
		})
		const tracing = openTelemetry(otel)
		onTestFinished(observe({ billing: client }, [tracing]))
		const url = await start(tracing.server, async () => (await client('http://billing.internal/')).status)
		const body = JSON.stringify({ name: 'x'.repeat(100_000) })
		const headers = { ...traced, 'content-type': 'application/json' }
		const response = await fetch(`${url}/users/7?token=secret`, { method: 'POST', body, headers })
		expect(response.status).toBe(200)

		const span = await serverSpan()
		expect(span.spanContext().traceId).toBe(TRACE_ID)
		expect(parentOf(span)).toBe(CALLER)
		expect(span.status.code).toBe(otel.SpanStatusCode.UNSET)
		const route = HAS_ROUTE.has(name) ? { 'http.route': '/users/:id' } : {}
		expect(span.name).toBe(HAS_ROUTE.has(name) ? 'POST /users/:id' : 'POST')
		expect(span.attributes).toEqual({
			'http.request.method': 'POST',
			'url.path': '/users/7',
			'url.scheme': 'http',
			'http.response.status_code': 200,
			...route,
		})
		const call = sdk.spans().find(({ kind }) => kind === otel.SpanKind.INTERNAL)
		expect(call && parentOf(call)).toBe(idOf(span))
		expect(sent[0]?.get('traceparent')).toContain(`00-${TRACE_ID}-`)
	})

	test.each([
		[404, otel.SpanStatusCode.UNSET, undefined],
		[503, otel.SpanStatusCode.ERROR, '503'],
	])('status %i', async (status, code, errorType) => {
		const url = await start(openTelemetry(otel).server, async () => status)
		await fetch(`${url}/users/7`)
		const span = await serverSpan()
		expect(span.attributes['http.response.status_code']).toBe(status)
		expect(span.attributes['error.type']).toBe(errorType)
		expect(span.status).toEqual({ code })
		expect(parentOf(span)).toBeUndefined()
	})

	test('a handler that throws', async () => {
		vi.spyOn(console, 'error').mockImplementation(() => undefined)
		const url = await start(openTelemetry(otel).server, async () => {
			throw new TypeError('no such user')
		})
		expect((await fetch(`${url}/users/7`)).status).toBe(500)
		const span = await serverSpan()
		expect(span.status.code).toBe(otel.SpanStatusCode.ERROR)
		expect(span.attributes['error.type']).toBe(name === 'fetch' ? 'TypeError' : '500')
	})

	test('no second span if an instrumentation has started one', async () => {
		const tracer = otel.trace.getTracer('instrumentation')
		const active: unknown[] = []
		const handle = async () => {
			active.push(otel.trace.getActiveSpan()?.spanContext().spanId)
			return 200
		}
		const instrument: Instrument = (listener) => (request, response) => {
			tracer.startActiveSpan('instrumented', { kind: otel.SpanKind.SERVER }, (span) => {
				response.once('close', () => span.end())
				listener(request, response)
			})
		}
		const url = await start(openTelemetry(otel).server, handle, instrument)
		await fetch(`${url}/users/7`, { headers: traced })
		const span = await serverSpan()
		expect(span.name).toBe('instrumented')
		expect(active).toEqual([idOf(span)])
	})

	test('responds if the SDK fails', async () => {
		const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
		const fail = () => {
			throw new Error('broken')
		}
		vi.spyOn(otel.propagation, 'extract').mockImplementation(fail)
		const url = await start(openTelemetry(otel).server, async () => 200)
		expect((await fetch(`${url}/users/7`, { headers: traced })).status).toBe(200)
		expect((await fetch(`${url}/users/7`, { headers: traced })).status).toBe(200)
		expect(warn).toHaveBeenCalledTimes(1)
	})

	test('passes requests on without an SDK, and with spans off', async () => {
		const off = await start(openTelemetry(otel, { spans: false }).server, async () => 200)
		expect((await fetch(`${off}/users/7`, { headers: traced })).status).toBe(200)
		await sdk.stop()
		const url = await start(openTelemetry(otel).server, async () => 204)
		expect((await fetch(`${url}/users/7`)).status).toBe(204)
		expect(serverSpans()).toEqual([])
	})
})

test.each(['node:http', 'Express 5', 'Fastify'])(
	'%s: a client that disconnects gets no status',
	async (name) => {
		const received = Promise.withResolvers<void>()
		const url = await servers[name]?.(openTelemetry(otel).server, () => {
			received.resolve()
			return new Promise(() => undefined)
		})
		const client = connect(Number(new URL(String(url)).port), '127.0.0.1')
		client.write('GET /users/7 HTTP/1.1\r\nhost: shop\r\n\r\n')
		await received.promise
		client.destroy()
		const span = await serverSpan()
		expect(span.attributes).not.toHaveProperty('http.response.status_code')
		expect(span.status.code).toBe(otel.SpanStatusCode.UNSET)
	},
)

test('listeners of a request and its response run in its span', async () => {
	const active: unknown[] = []
	const note = () => active.push(otel.trace.getActiveSpan()?.spanContext().traceId)
	const { server } = openTelemetry(otel)
	const url = await onNode(
		server.node((request: IncomingMessage, response: ServerResponse) => {
			request.on('end', () => {
				note()
				response.end()
			})
			response.on('finish', note)
			request.resume()
		}),
	)
	await fetch(url, { method: 'POST', body: 'x'.repeat(1_000_000), headers: traced })
	await serverSpan()
	expect(active).toEqual([TRACE_ID, TRACE_ID])
})
