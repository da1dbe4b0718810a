import * as otel from '@opentelemetry/api'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { OutboxLeaseLostError } from 'yaoki/outbox'
import { openTelemetry } from 'yaoki/telemetry'
import { batchInfo, deliveryInfo, enqueueInfo, source } from './infos.ts'
import { idOf, parentOf, type Sdk, startSdk } from './sdk.ts'

let sdk: Sdk
beforeEach(() => {
	sdk = startSdk()
})
afterEach(() => sdk.stop())

const outbox = source({ name: 'outbox', kind: 'outbox' })
const relay = source({ name: 'relay', kind: 'relay' })
const TRACE_ID = '0af7651916cd43dd8448eb211c80319c'
const REMOTE = `00-${TRACE_ID}-b7ad6b7169203331-01`

describe('enqueue', () => {
	test('creates a span of a producer, whose context is stored with the message', async () => {
		const observer = openTelemetry(otel).attach(outbox)
		const info = enqueueInfo()
		const active = await observer.around?.(info, async () => otel.trace.getActiveSpan()?.spanContext().spanId)
		const span = sdk.span('enqueue order.placed')
		expect(active).toBe(idOf(span))
		expect(span.kind).toBe(otel.SpanKind.PRODUCER)
		expect(span.attributes).toEqual({
			'messaging.system': 'yaoki',
			'messaging.operation.name': 'enqueue',
			'messaging.operation.type': 'send',
			'messaging.destination.name': 'order.placed',
		})
		const { traceId, spanId } = span.spanContext()
		expect(info.added).toEqual({ traceparent: `00-${traceId}-${spanId}-01` })
	})

	test('enqueue of several messages has their number, and a topic only if all have the same', () => {
		const observer = openTelemetry(otel).attach(outbox)
		observer.around?.(enqueueInfo({ topics: ['a', 'b'], count: 3 }), () => undefined)
		const { attributes } = sdk.span('enqueue')
		expect(attributes['messaging.batch.message_count']).toBe(3)
		expect(attributes).not.toHaveProperty('messaging.destination.name')
	})

	test('enqueue that throws has an error', () => {
		const observer = openTelemetry(otel).attach(outbox)
		const next = () => {
			throw Object.assign(new Error('database is locked'), { code: 'ERR_SQLITE_ERROR' })
		}
		expect(() => observer.around?.(enqueueInfo(), next)).toThrow('database is locked')
		const span = sdk.span('enqueue order.placed')
		expect(span.status).toEqual({ code: otel.SpanStatusCode.ERROR, message: 'database is locked' })
		expect(span.attributes['error.type']).toBe('ERR_SQLITE_ERROR')
		expect(span.events).toHaveLength(1)
	})
})

describe('delivery', () => {
	test('continues the trace of the message, and is active while the handler runs', async () => {
		const observer = openTelemetry(otel).attach(relay)
		const info = deliveryInfo({ headers: { Traceparent: REMOTE }, attempt: 2 })
		const active = await observer.around?.(info, async () => {
			await Promise.resolve()
			return otel.trace.getActiveSpan()?.spanContext().spanId
		})
		const span = sdk.span('deliver order.placed')
		expect(active).toBe(idOf(span))
		expect(span.kind).toBe(otel.SpanKind.CONSUMER)
		expect(span.spanContext().traceId).toBe(TRACE_ID)
		expect(parentOf(span)).toBe('b7ad6b7169203331')
		expect(span.attributes).toEqual({
			'messaging.system': 'yaoki',
			'messaging.operation.name': 'deliver',
			'messaging.operation.type': 'process',
			'messaging.destination.name': 'order.placed',
			'messaging.destination.subscription.name': 'billing',
			'messaging.message.id': 'm-1',
			'yaoki.attempt': 2,
		})
	})

	test('delivery has a trace of its own with a link', async () => {
		const observer = openTelemetry(otel, { delivery: 'link' }).attach(relay)
		await observer.around?.(deliveryInfo({ headers: { traceparent: REMOTE } }), async () => undefined)
		const span = sdk.span('deliver order.placed')
		expect(span.spanContext().traceId).not.toBe(TRACE_ID)
		expect(parentOf(span)).toBeUndefined()
		expect(span.links.map(({ context }) => context.traceId)).toEqual([TRACE_ID])
	})

	test.each(['parent', 'link'] as const)(
		'delivery of a message without a trace starts one: %s',
		(delivery) => {
			const observer = openTelemetry(otel, { delivery }).attach(relay)
			otel.trace.getTracer('app').startActiveSpan('start of the relay', (span) => {
				observer.around?.(deliveryInfo({ headers: { traceparent: 'invalid' } }), () => undefined)
				span.end()
			})
			const span = sdk.span('deliver order.placed')
			expect(parentOf(span)).toBeUndefined()
			expect(span.links).toEqual([])
			expect(span.spanContext().traceId).not.toBe(sdk.span('start of the relay').spanContext().traceId)
		},
	)

	test('delivery that fails has an error', async () => {
		const observer = openTelemetry(otel).attach(relay)
		const failure = observer.around?.(deliveryInfo(), () => Promise.reject(new RangeError('bad')))
		await expect(failure).rejects.toThrow('bad')
		const span = sdk.span('deliver order.placed')
		expect(span.status).toEqual({ code: otel.SpanStatusCode.ERROR, message: 'bad' })
		expect(span.attributes['error.type']).toBe('RangeError')
	})
})

describe('a handler that does not end', () => {
	const failure = {
		timestamp: 0,
		emitter: 'relay',
		messageId: 'm-1',
		topic: 'order.placed',
		destination: 'emails',
		attempts: 1,
		durationMs: 5,
		cause: 'retries-exhausted',
	}

	test.each([
		[
			{ ...failure, type: 'relay_retry_scheduled', errorType: 'TimeoutError', errorMessage: 'too long' },
			'TimeoutError',
		],
		[
			{ ...failure, type: 'relay_dead_letter', errorType: 'TimeoutError', errorMessage: 'too long' },
			'TimeoutError',
		],
		[{ ...failure, type: 'relay_lease_lost' }, new OutboxLeaseLostError('m-1').name],
	])('a handler that does not end has its span ended by the event: %s', async (event, type) => {
		const observer = openTelemetry(otel).attach(relay)
		const handler = Promise.withResolvers<void>()
		const delivery = observer.around?.(deliveryInfo(), () => handler.promise)
		observer.onEvent?.({ ...event, messageId: 'm-2' } as never)
		expect(sdk.spans()).toEqual([])
		observer.onEvent?.(event)
		expect(sdk.span('deliver order.placed').attributes['error.type']).toBe(type)
		handler.resolve()
		await delivery
		observer.onEvent?.(event)
		expect(sdk.spans()).toHaveLength(1)
		expect(await sdk.points('messaging.process.duration')).toHaveLength(1)
	})
})

describe('a batch', () => {
	const OTHER = '11111111111111111111111111111111'

	test('has one span, with a link to the trace of each message, that is active while the handler runs', async () => {
		const observer = openTelemetry(otel).attach(relay)
		const info = batchInfo([
			{ headers: { Traceparent: REMOTE } },
			{ headers: { traceparent: `00-${OTHER}-b7ad6b7169203331-01` } },
			{},
		])
		const active = await observer.around?.(info, async () => otel.trace.getActiveSpan()?.spanContext().spanId)
		expect(sdk.spans()).toHaveLength(1)
		const span = sdk.span('deliver order.placed')
		expect(active).toBe(idOf(span))
		expect(span.kind).toBe(otel.SpanKind.CONSUMER)
		expect(parentOf(span)).toBeUndefined()
		expect(span.links.map(({ context }) => context.traceId)).toEqual([TRACE_ID, OTHER])
		expect(span.attributes).toEqual({
			'messaging.system': 'yaoki',
			'messaging.operation.name': 'deliver',
			'messaging.operation.type': 'process',
			'messaging.destination.name': 'order.placed',
			'messaging.destination.subscription.name': 'billing',
			'messaging.batch.message_count': 3,
		})
		expect(await sdk.points('messaging.process.duration')).toMatchObject([{ value: { count: 1 } }])
	})

	test('has a topic only if all messages have the same, and the error of a call that failed', async () => {
		const observer = openTelemetry(otel).attach(relay)
		const failure = observer.around?.(batchInfo([{ topic: 'a' }, { topic: 'b' }]), () =>
			Promise.reject(new RangeError('bad')),
		)
		await expect(failure).rejects.toThrow('bad')
		const span = sdk.span('deliver')
		expect(span.attributes).not.toHaveProperty('messaging.destination.name')
		expect(span.attributes['error.type']).toBe('RangeError')
	})

	test('whose handler does not end has its span ended with its last message', async () => {
		const observer = openTelemetry(otel).attach(relay)
		const handler = Promise.withResolvers<void>()
		const delivery = observer.around?.(batchInfo([{}, {}]), () => handler.promise)
		const lost = { timestamp: 0, emitter: 'relay', type: 'relay_lease_lost' }
		observer.onEvent?.({ ...lost, messageId: 'm-1' } as never)
		observer.onEvent?.({ ...lost, messageId: 'm-1' } as never)
		expect(sdk.spans()).toEqual([])
		observer.onEvent?.({ ...lost, messageId: 'm-2' } as never)
		expect(sdk.span('deliver order.placed').attributes['error.type']).toBe('OutboxLeaseLostError')
		handler.resolve()
		await delivery
		expect(sdk.spans()).toHaveLength(1)
	})
})

test('metrics of messages follow the conventions', async () => {
	const exporter = openTelemetry(otel, { spans: false })
	const [producer, consumer] = [exporter.attach(outbox), exporter.attach(relay)]
	producer.around?.(enqueueInfo({ count: 3 }), () => undefined)
	await consumer.around?.(deliveryInfo(), async () => undefined)
	await Promise.resolve(consumer.around?.(deliveryInfo(), () => Promise.reject(new RangeError()))).catch(
		() => {},
	)
	const common = { 'messaging.system': 'yaoki', 'messaging.destination.name': 'order.placed' }
	const sent = { ...common, 'messaging.operation.name': 'enqueue' }
	expect(await sdk.points('messaging.client.sent.messages')).toMatchObject([{ attributes: sent, value: 3 }])
	expect(await sdk.points('messaging.client.operation.duration')).toMatchObject([
		{ attributes: { ...sent, 'messaging.operation.type': 'send' }, value: { count: 1 } },
	])
	const processed = {
		...common,
		'messaging.operation.name': 'deliver',
		'messaging.destination.subscription.name': 'billing',
	}
	const points = await sdk.points('messaging.process.duration')
	expect(points.map(({ attributes }) => attributes)).toEqual([
		processed,
		{ ...processed, 'error.type': 'RangeError' },
	])
	expect(sdk.spans()).toEqual([])
})

test('spans have the name of an endpoint of webhooks, and metrics have one series for all', async () => {
	const observer = openTelemetry(otel).attach(relay)
	for (const id of ['1', '2'])
		observer.around?.(deliveryInfo({ destination: `webhook:${id}`, messageId: id }), () => undefined)
	const name = 'messaging.destination.subscription.name'
	const spans = sdk.spans().filter(({ kind }) => kind === otel.SpanKind.CONSUMER)
	expect(spans.map(({ attributes }) => attributes[name])).toEqual(['webhook:1', 'webhook:2'])
	const points = await sdk.points('messaging.process.duration')
	expect(points).toMatchObject([{ attributes: { [name]: 'webhook:*' }, value: { count: 2 } }])
})
