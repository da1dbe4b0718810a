/** One trace across an HTTP client, a server, the enqueue of a message and its delivery, with the real SDK. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import * as otel from '@opentelemetry/api'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { resilientFetch } from 'yaoki/http'
import { Outbox, Relay, sqliteOutboxStore } from 'yaoki/outbox'
import { observe, openTelemetry } from 'yaoki/telemetry'
import { HEADERS_BYTES } from '../../../src/outbox/enqueue/fields.ts'
import { listen } from '../../support/listen.ts'
import { temporaryFile } from '../../support/temporary-file.ts'
import { idOf, parentOf, type Sdk, startSdk } from './sdk.ts'

let sdk: Sdk
beforeEach(() => {
	sdk = startSdk()
})
afterEach(() => sdk.stop())

const OUTSIDE = { withoutTransaction: true }

/** A server as an instrumentation of `node:http` would make it: each request continues the trace of its headers. */
async function tracedServer(
	handle: (request: IncomingMessage, response: ServerResponse) => Promise<void> | void,
): Promise<string> {
	const tracer = otel.trace.getTracer('server')
	const server = createServer((request, response) => {
		const parent = otel.propagation.extract(otel.ROOT_CONTEXT, request.headers)
		const options = { kind: otel.SpanKind.SERVER }
		const { pathname } = new URL(`http://localhost${request.url}`)
		void tracer.startActiveSpan(`${request.method} ${pathname}`, options, parent, async (span) => {
			await handle(request, response)
			span.end()
			response.end()
		})
	})
	const port = await listen(server)
	onTestFinished(() => {
		server.closeAllConnections()
		server.close()
	})
	return `http://127.0.0.1:${port}`
}

async function startOutbox() {
	const outbox = new Outbox({ store: sqliteOutboxStore(temporaryFile()) })
	await outbox.migrate()
	onTestFinished(() => outbox.close())
	return outbox
}

test('a request with a retry, its server, the message that it enqueues and the delivery are one trace', async () => {
	const outbox = await startOutbox()
	let orders = 0
	const shop = await tracedServer(async (_, response) => {
		response.statusCode = orders++ === 0 ? 503 : 201
		if (response.statusCode === 201)
			await outbox.enqueue({ topic: 'order.placed', payload: { id: 7 } }, OUTSIDE)
	})
	const billing = await tracedServer(() => undefined)
	const client = resilientFetch({ baseDelayMs: 1, maxDelayMs: 1 })
	const delivered = Promise.withResolvers<void>()
	const relay = new Relay(outbox, {
		destinations: {
			'order.placed': async () => {
				await (await client(`${billing}/charges`, { method: 'POST' })).arrayBuffer()
				delivered.resolve()
			},
		},
	})
	const stop = observe({ client, outbox, relay }, [openTelemetry(otel)])

	await otel.trace.getTracer('app').startActiveSpan('checkout', async (span) => {
		const response = await client(`${shop}/orders?token=secret`, {
			method: 'POST',
			headers: { 'idempotency-key': 'o-7' },
		})
		expect(response.status).toBe(201)
		await response.arrayBuffer()
		span.end()
	})
	await relay.start()
	await delivered.promise
	await relay.stop()
	stop()

	const [checkout, enqueue, delivery] = ['checkout', 'enqueue order.placed', 'deliver order.placed'].map(
		sdk.span,
	)
	const [first, second, charge] = sdk.spans().filter(({ name }) => name === 'POST')
	const [failed, ordered] = sdk.spans().filter(({ name }) => name === 'POST /orders')
	const charged = sdk.span('POST /charges')
	const order = sdk.span(new URL(shop).host)
	const chargeCall = sdk.span(new URL(billing).host)
	const spans = {
		checkout,
		order,
		first,
		failed,
		second,
		ordered,
		enqueue,
		delivery,
		chargeCall,
		charge,
		charged,
	}

	const names = new Map(Object.entries(spans).map(([name, span]) => [span && idOf(span), name]))
	const tree = Object.fromEntries(
		Object.entries(spans).map(([name, span]) => [name, names.get(span && parentOf(span))]),
	)
	expect(tree).toEqual({
		checkout: undefined,
		order: 'checkout',
		first: 'order',
		failed: 'first',
		second: 'order',
		ordered: 'second',
		enqueue: 'ordered',
		delivery: 'enqueue',
		chargeCall: 'delivery',
		charge: 'chargeCall',
		charged: 'charge',
	})
	expect(sdk.spans()).toHaveLength(Object.keys(spans).length)
	expect(new Set(sdk.spans().map((span) => span.spanContext().traceId)).size).toBe(1)
	expect(Object.values(spans).map((span) => span?.kind)).toEqual([
		otel.SpanKind.INTERNAL,
		otel.SpanKind.INTERNAL,
		otel.SpanKind.CLIENT,
		otel.SpanKind.SERVER,
		otel.SpanKind.CLIENT,
		otel.SpanKind.SERVER,
		otel.SpanKind.PRODUCER,
		otel.SpanKind.CONSUMER,
		otel.SpanKind.INTERNAL,
		otel.SpanKind.CLIENT,
		otel.SpanKind.SERVER,
	])
	const request = {
		'http.request.method': 'POST',
		'url.full': `${shop}/orders`,
		'server.address': '127.0.0.1',
		'server.port': Number(new URL(shop).port),
	}
	expect(first?.attributes).toEqual({
		...request,
		'http.response.status_code': 503,
		'error.type': '503',
		'yaoki.attempt': 1,
	})
	expect(first?.status.code).toBe(otel.SpanStatusCode.ERROR)
	expect(second?.attributes).toEqual({
		...request,
		'http.response.status_code': 201,
		'http.request.resend_count': 1,
		'yaoki.attempt': 2,
	})
	expect(order.status.code).toBe(otel.SpanStatusCode.UNSET)
	expect(order.attributes).toMatchObject({
		'yaoki.outcome': 'success',
		'yaoki.attempts': 2,
		'yaoki.retries': 1,
	})
	expect(order.events.map(({ name }) => name)).toEqual(['yaoki.retry_attempt'])
	expect(delivery?.attributes).toMatchObject({
		'messaging.destination.name': 'order.placed',
		'messaging.destination.subscription.name': 'order.placed',
		'yaoki.attempt': 1,
	})
	expect(JSON.stringify(sdk.spans().map(({ attributes, events }) => [attributes, events]))).not.toContain(
		'secret',
	)
})

test("a message and a request keep the user's own trace context", async () => {
	const own = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
	const outbox = await startOutbox()
	const received = Promise.withResolvers<unknown>()
	const server = await tracedServer((request) => received.resolve(request.headers['traceparent']))
	const client = resilientFetch()
	const stop = observe({ client, outbox }, [openTelemetry(otel)])
	await (await client(server, { headers: { Traceparent: own } })).arrayBuffer()
	expect(await received.promise).toBe(own)

	await outbox.enqueue({ topic: 'a', payload: 1, headers: { Traceparent: own } }, OUTSIDE)
	const headers = Promise.withResolvers<unknown>()
	const relay = new Relay(outbox, { destinations: { a: (message) => headers.resolve(message.headers) } })
	await relay.start()
	expect(await headers.promise).toEqual({ Traceparent: own })
	await relay.stop()
	stop()
})

test('a failed delivery is an error, and the next one has its own span in the same trace', async () => {
	const outbox = await startOutbox()
	const done = Promise.withResolvers<void>()
	let attempts = 0
	const relay = new Relay(outbox, {
		destinations: {
			a: () => {
				if (++attempts === 1) throw Object.assign(new Error('not now'), { name: 'Unavailable' })
				done.resolve()
			},
		},
		retry: { baseDelayMs: 1, maxDelayMs: 1 },
		circuitBreaker: false,
	})
	const stop = observe({ outbox, relay }, [openTelemetry(otel)])
	await outbox.enqueue({ topic: 'a', payload: 1 }, OUTSIDE)
	await relay.start()
	await done.promise
	await relay.stop()
	stop()
	const deliveries = sdk.spans().filter(({ name }) => name === 'deliver a')
	expect(deliveries.map(({ attributes }) => [attributes['yaoki.attempt'], attributes['error.type']])).toEqual(
		[
			[1, 'Unavailable'],
			[2, undefined],
		],
	)
	const enqueue = idOf(sdk.span('enqueue a'))
	expect(deliveries.map(parentOf)).toEqual([enqueue, enqueue])
})

test('a handler beyond its timeout has a span that ended with the timeout', async () => {
	const outbox = await startOutbox()
	const handler = Promise.withResolvers<void>()
	const relay = new Relay(outbox, {
		destinations: { a: () => handler.promise },
		timeoutMs: 1,
		circuitBreaker: false,
	})
	const stop = observe({ outbox, relay }, [openTelemetry(otel)])
	const scheduled = Promise.withResolvers<void>()
	relay.subscribe(({ type }) => type === 'relay_retry_scheduled' && scheduled.resolve())
	await outbox.enqueue({ topic: 'a', payload: 1 }, OUTSIDE)
	await relay.start()
	await scheduled.promise
	const { status, attributes } = sdk.span('deliver a')
	expect(status.code).toBe(otel.SpanStatusCode.ERROR)
	expect(attributes['error.type']).toBe('TimeoutError')
	handler.resolve()
	await relay.stop()
	stop()
	expect(sdk.spans().filter(({ name }) => name === 'deliver a')).toHaveLength(1)
})

test('a message whose headers leave no room for the trace context is stored without it', async () => {
	const outbox = await startOutbox()
	const stop = observe({ outbox }, [openTelemetry(otel)])
	const headers = { large: 'x'.repeat(HEADERS_BYTES - 20) }
	await outbox.enqueue({ topic: 'a', payload: 1, headers }, OUTSIDE)
	const received = Promise.withResolvers<unknown>()
	const relay = new Relay(outbox, { destinations: { a: (message) => received.resolve(message.headers) } })
	await relay.start()
	expect(await received.promise).toEqual(headers)
	await relay.stop()
	stop()
})
