import * as otel from '@opentelemetry/api'
import { AlwaysOffSampler } from '@opentelemetry/sdk-trace'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { CircuitOpenError, HttpError } from 'yaoki'
import { openTelemetry } from 'yaoki/telemetry'
import { attemptInfo, callEnd, callInfo, request, source } from './infos.ts'
import { idOf, parentOf, type Sdk, startSdk } from './sdk.ts'

let sdk: Sdk
beforeEach(() => {
	sdk = startSdk()
})
afterEach(() => sdk.stop())

const URL_OF_ORDERS = 'https://user:secret@api.example.com/orders/7?token=secret#part'
const HTTP = { key: 'https://api.example.com', method: 'GET', emitter: 'http' }

describe('the span of a call', () => {
	test('the span of a call is active while the call runs, and is a child of the active span', () => {
		const observer = openTelemetry(otel).attach(source())
		const info = callInfo({ call: 'load user 7', key: 'tenant-1' })
		const active = otel.trace.getTracer('app').startActiveSpan('request', (request) => {
			const span = observer.around?.(info, () => otel.trace.getActiveSpan())
			observer.onCallEnd?.(callEnd(info, { attempts: 3, retries: 2, backoffMs: 20, queuedMs: 5 }))
			request.end()
			return span as otel.Span
		})
		const span = sdk.span('payments')
		expect(idOf(span)).toBe(active.spanContext().spanId)
		expect(parentOf(span)).toBe(idOf(sdk.span('request')))
		expect(span.kind).toBe(otel.SpanKind.INTERNAL)
		expect(span.status.code).toBe(otel.SpanStatusCode.UNSET)
		expect(span.attributes).toEqual({
			'yaoki.emitter': 'payments',
			'yaoki.key': 'tenant-1',
			'yaoki.call': 'load user 7',
			'yaoki.outcome': 'success',
			'yaoki.attempts': 3,
			'yaoki.retries': 2,
			'yaoki.queued_ms': 5,
			'yaoki.backoff_ms': 20,
		})
		expect(span.events).toEqual([])
	})

	test('the span of a call has the error of a failed call, without the secrets of URLs', () => {
		const observer = openTelemetry(otel).attach(source())
		const info = callInfo()
		observer.around?.(info, () => undefined)
		const error = new TypeError(`cannot load ${URL_OF_ORDERS}`)
		observer.onCallEnd?.(callEnd(info, { outcome: 'failure', error }))
		const span = sdk.span('payments')
		expect(span.status).toEqual({
			code: otel.SpanStatusCode.ERROR,
			message: 'cannot load https://api.example.com/orders/7',
		})
		expect(span.attributes['error.type']).toBe('TypeError')
		expect(span.events).toHaveLength(1)
		expect(span.events[0]?.attributes?.['exception.type']).toBe('TypeError')
		expect(JSON.stringify(span.events)).not.toContain('secret')
	})

	test('the span of a rejected call is an error without an exception', () => {
		const observer = openTelemetry(otel).attach(source())
		const info = callInfo()
		observer.around?.(info, () => undefined)
		const error = new CircuitOpenError('breaker', 1_000)
		observer.onCallEnd?.(callEnd(info, { outcome: 'rejected', attempts: 0, error }))
		const span = sdk.span('payments')
		expect(span.status.code).toBe(otel.SpanStatusCode.ERROR)
		expect(span.attributes['error.type']).toBe('CircuitOpenError')
		expect(span.events).toEqual([])
	})
})

describe('the span of an attempt', () => {
	test('the span of an attempt is a child of the call, and active while the operation runs, also if it is one of gRPC', async () => {
		const observer = openTelemetry(otel).attach(source())
		const info = callInfo()
		const run = () =>
			observer.around?.(
				attemptInfo(info, { attempt: 2, resendCount: 1, extension: { method: 'Get' } }),
				async () => {
					await Promise.resolve()
					return otel.trace.getActiveSpan()?.spanContext().spanId
				},
			)
		const active = await observer.around?.(info, run)
		observer.onCallEnd?.(callEnd(info))
		const [attempt, call] = [sdk.span('attempt'), sdk.span('payments')]
		expect(parentOf(attempt)).toBe(idOf(call))
		expect(active).toBe(idOf(attempt))
		expect(attempt.attributes).toEqual({ 'yaoki.attempt': 2 })
		expect(attempt.kind).toBe(otel.SpanKind.INTERNAL)
	})

	test.each([
		[
			'throws',
			() => {
				throw new RangeError('bad')
			},
		],
		['rejects', () => Promise.reject(new RangeError('bad'))],
	])('the span of an attempt has an error if the operation %s', async (_, operation) => {
		const observer = openTelemetry(otel).attach(source())
		const info = callInfo()
		observer.around?.(info, () => undefined)
		const run = async () => observer.around?.(attemptInfo(info), operation)
		await expect(run()).rejects.toThrow('bad')
		const { status, attributes, events } = sdk.span('attempt')
		expect(status).toEqual({ code: otel.SpanStatusCode.ERROR, message: 'bad' })
		expect(attributes['error.type']).toBe('RangeError')
		expect(events).toEqual([])
	})

	async function send(
		result: () => unknown,
		{ headers = {}, method = 'GET', resendCount = 0, options = {} } = {},
	) {
		const observer = openTelemetry(otel, options).attach(source({ kind: 'http' }))
		const info = callInfo(HTTP)
		const http = request(URL_OF_ORDERS, headers, method)
		const run = () => observer.around?.(attemptInfo(info, { extension: http, resendCount }), result)
		await Promise.resolve(observer.around?.(info, run)).catch(() => undefined)
		observer.onCallEnd?.(callEnd(info))
		return http
	}

	test('the span of an HTTP attempt has the attributes of the conventions, without the secrets of the URL', async () => {
		await send(async () => new Response(null, { status: 204 }))
		const span = sdk.span('GET')
		expect(span.kind).toBe(otel.SpanKind.CLIENT)
		expect(span.status.code).toBe(otel.SpanStatusCode.UNSET)
		expect(span.attributes).toEqual({
			'http.request.method': 'GET',
			'url.full': 'https://api.example.com/orders/7',
			'server.address': 'api.example.com',
			'server.port': 443,
			'http.response.status_code': 204,
			'yaoki.attempt': 1,
		})
	})

	test('the span of a second attempt has the number of requests before it', async () => {
		await send(async () => new Response(), { resendCount: 1 })
		expect(sdk.span('GET').attributes['http.request.resend_count']).toBe(1)
	})

	test.each([
		['a response', async () => new Response(null, { status: 503 })],
		['an HttpError', () => Promise.reject(new HttpError(503))],
	])('the span of an attempt has the status of %s as its error, without a message', async (_, result) => {
		await send(result)
		const { status, attributes } = sdk.span('GET')
		expect(status).toEqual({ code: otel.SpanStatusCode.ERROR })
		expect(attributes).toMatchObject({ 'http.response.status_code': 503, 'error.type': '503' })
	})

	test('the span of an attempt whose connection fails has the code of the error', async () => {
		const cause = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
		await send(() => Promise.reject(new TypeError('fetch failed', { cause })))
		const { status, attributes } = sdk.span('GET')
		expect(attributes['error.type']).toBe('ECONNREFUSED')
		expect(status.message).toBe('fetch failed: ECONNREFUSED')
	})

	test('the span of an attempt with an unknown method has a name with few values', async () => {
		await send(async () => new Response(), { method: 'BREW' })
		expect(sdk.span('HTTP').attributes).toMatchObject({
			'http.request.method': '_OTHER',
			'http.request.method_original': 'BREW',
		})
	})

	describe('trace context', () => {
		test('the trace context of the attempt is added to the request', async () => {
			const { added } = await send(async () => new Response())
			const { traceId, spanId } = sdk.span('GET').spanContext()
			expect(added).toEqual({ traceparent: `00-${traceId}-${spanId}-01` })
		})

		test("trace context is not added beside the user's own", async () => {
			expect((await send(async () => new Response(), { headers: { traceparent: 'own' } })).added).toEqual({})
		})

		test('trace context is not added with `propagate: false`', async () => {
			expect((await send(async () => new Response(), { options: { propagate: false } })).added).toEqual({})
		})

		test('trace context is that of the call with `attempts: false`', async () => {
			const { added } = await send(async () => new Response(), { options: { attempts: false } })
			expect(added['traceparent']).toContain(idOf(sdk.span('payments')))
			expect(sdk.spans()).toHaveLength(1)
		})

		test('trace context is passed on if the trace is sampled out', async () => {
			await sdk.stop()
			sdk = startSdk({ sampler: new AlwaysOffSampler() })
			const { added } = await send(async () => new Response())
			expect(added['traceparent']).toMatch(/^00-[\da-f]{32}-[\da-f]{16}-00$/)
			expect(sdk.spans()).toEqual([])
		})
	})
})

test('without an SDK nothing is added, and the function runs without a wrapper', async () => {
	await sdk.stop()
	const observer = openTelemetry(otel).attach(source({ kind: 'http' }))
	const info = callInfo(HTTP)
	const store = vi.spyOn(info.state, 'set')
	const http = request(URL_OF_ORDERS)
	const next = vi.fn(() => 7)
	expect(observer.around?.(info, () => observer.around?.(attemptInfo(info, { extension: http }), next))).toBe(
		7,
	)
	observer.onCallEnd?.(callEnd(info))
	expect(next).toHaveBeenCalledOnce()
	expect(http.added).toEqual({})
	expect(store).not.toHaveBeenCalled()
})

test('an SDK that is registered later is used', async () => {
	await sdk.stop()
	const observer = openTelemetry(otel).attach(source())
	const early = callInfo()
	observer.around?.(early, () => undefined)
	observer.onCallEnd?.(callEnd(early))
	sdk = startSdk()
	const late = callInfo()
	observer.around?.(late, () => undefined)
	observer.onCallEnd?.(callEnd(late))
	expect(sdk.spans()).toHaveLength(1)
	expect(await sdk.points('yaoki.call.duration')).toHaveLength(1)
})

test('suppressed tracing creates no spans', async () => {
	const { suppressTracing } = await import('@opentelemetry/core')
	const observer = openTelemetry(otel).attach(source())
	const info = callInfo()
	otel.context.with(suppressTracing(otel.context.active()), () => observer.around?.(info, () => undefined))
	observer.onCallEnd?.(callEnd(info))
	expect(sdk.spans()).toEqual([])
})
