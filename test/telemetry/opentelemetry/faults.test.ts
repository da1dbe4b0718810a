import * as otel from '@opentelemetry/api'
import { afterEach, beforeEach, describe, expect, expectTypeOf, test, vi } from 'vitest'
import { openTelemetry } from 'yaoki/telemetry'
import type { OpenTelemetryApi } from '../../../src/telemetry/opentelemetry/api.ts'
import { attemptInfo, callEnd, callInfo, deliveryInfo, enqueueInfo, request, source } from './infos.ts'
import { type Sdk, startSdk } from './sdk.ts'

let sdk: Sdk
beforeEach(() => {
	sdk = startSdk()
})
afterEach(() => sdk.stop())

const broken = (): never => {
	throw new Error('broken SDK')
}

/** A span whose methods throw, except those that are needed to find out whether it is recorded. */
function brokenSpan(): otel.Span {
	const { traceId, spanId } = { traceId: '1'.repeat(32), spanId: '1'.repeat(16) }
	return {
		...Object.fromEntries(
			['setAttributes', 'addEvent', 'setStatus', 'recordException', 'end'].map((name) => [name, broken]),
		),
		isRecording: () => true,
		spanContext: () => ({ traceId, spanId, traceFlags: 1 }),
	} as unknown as otel.Span
}

const provider = (span: () => otel.Span) => ({ getTracer: () => ({ startSpan: span }) })

const APIS: Readonly<Record<string, Partial<OpenTelemetryApi>>> = {
	'the tracer provider throws': { trace: { ...otel.trace, getTracerProvider: broken } },
	'starting a span throws': { trace: { ...otel.trace, getTracerProvider: () => provider(broken) } },
	'all methods of a span throw': { trace: { ...otel.trace, getTracerProvider: () => provider(brokenSpan) } },
	'the context manager throws': { context: { active: () => otel.ROOT_CONTEXT, with: broken } },
	'the context manager does not run the function': {
		context: { active: () => otel.ROOT_CONTEXT, with: () => undefined },
	},
	'the context manager runs the function twice': {
		context: {
			active: () => otel.ROOT_CONTEXT,
			with: (_, fn) => [fn(), fn()],
		},
	},
	'the context manager throws afterwards': {
		context: {
			active: () => otel.ROOT_CONTEXT,
			with: (_, fn) => {
				fn()
				broken()
			},
		},
	},
	'the active context throws': { context: { active: broken, with: broken } },
	'the propagator throws': { propagation: { inject: broken, extract: broken } },
	'the meter provider throws': { metrics: { getMeterProvider: broken } },
	'creating a metric throws': {
		metrics: {
			getMeterProvider: () => ({
				getMeter: () => ({
					createCounter: broken,
					createHistogram: broken,
					createObservableGauge: broken,
				}),
			}),
		},
	},
	'recording throws': {
		metrics: {
			getMeterProvider: () => ({
				getMeter: () => ({
					createCounter: () => ({ add: broken }),
					createHistogram: () => ({ record: broken }),
					createObservableGauge: () => ({ addCallback() {}, removeCallback: broken }),
				}),
			}),
		},
	},
}

describe.each(Object.entries(APIS))('%s', (_, parts) => {
	test('every function runs once with its own result, and the problem is reported once', async () => {
		const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
		const observer = openTelemetry({ ...otel, ...parts }).attach(source())
		const failure = new Error('own')
		for (const repeat of [1, 2]) {
			const info = callInfo()
			const extension = request('http://localhost/')
			const infos = [info, attemptInfo(info), attemptInfo(info, { extension }), enqueueInfo(), deliveryInfo()]
			for (const one of infos) {
				const next = vi.fn(async () => repeat)
				expect(await observer.around?.(one, next)).toBe(repeat)
				const failing = vi.fn(() => {
					throw failure
				})
				expect(() => observer.around?.(one, failing)).toThrow(failure)
				expect([next, failing].map(({ mock }) => mock.calls.length)).toEqual([1, 1])
			}
			observer.onCallEnd?.(callEnd(info, { outcome: 'failure', error: failure, retries: 1 }))
		}
		observer.detach?.()
		const messages = warn.mock.calls.map(([message]) => String(message))
		expect(new Set(messages).size).toBe(messages.length)
		for (const message of messages) expect(message).toMatch(/^yaoki: telemetry \(openTelemetry\): /)
	})
})

test('a problem is reported with its error', () => {
	const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
	const trace = { ...otel.trace, getTracerProvider: broken }
	const observer = openTelemetry({ ...otel, trace }).attach(source())
	observer.around?.(callInfo(), () => undefined)
	observer.around?.(callInfo(), () => undefined)
	expect(warn.mock.calls).toEqual([
		['yaoki: telemetry (openTelemetry): a span could not be started:', new Error('broken SDK')],
	])
})

test('policies that cannot be read have no effect on the other sources', async () => {
	const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
	const exporter = openTelemetry(otel)
	exporter.attach(source({ members: broken }))
	const observer = exporter.attach(source())
	observer.onCallEnd?.(callEnd(callInfo()))
	expect(await sdk.points('yaoki.call.duration')).toHaveLength(1)
	expect(warn).toHaveBeenCalledOnce()
})

test('headers that HTTP cannot carry are left out', () => {
	const propagation = {
		...otel.propagation,
		inject: (_: unknown, carrier: unknown) =>
			Object.assign(carrier as object, { good: 'a b', 'bad name': '1', bad: 'a\nb', number: 7 }),
		extract: () => otel.ROOT_CONTEXT,
	}
	const observer = openTelemetry({ ...otel, propagation }).attach(source())
	const info = enqueueInfo()
	observer.around?.(info, () => undefined)
	expect(info.added).toEqual({ good: 'a b' })
})

test('the module has the type of the parameter', () => {
	expectTypeOf(otel).toExtend<OpenTelemetryApi>()
})

describe('options', () => {
	test.each([undefined, {}, otel.trace, { ...otel, metrics: undefined }, { ...otel, SpanKind: undefined }])(
		'rejects what is not the module',
		(api) => {
			expect(() => openTelemetry(api as never)).toThrow(
				'Invalid argument "api": expected the module @opentelemetry/api',
			)
		},
	)

	test('rejects unknown names and wrong values', () => {
		expect(() => openTelemetry(otel, { propagation: false } as never)).toThrow('Did you mean "propagate"?')
		expect(() => openTelemetry(otel, { delivery: 'links' } as never)).toThrow('one of parent, link')
		expect(() => openTelemetry(otel, { spans: 1 } as never)).toThrow('a boolean')
	})
})
