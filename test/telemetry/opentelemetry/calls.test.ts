/** Spans of real policies. */
import * as otel from '@opentelemetry/api'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { bulkhead, circuitBreaker, fallback, hedge, type Policy, pipeline, retry, timeout } from 'yaoki'
import { observe, openTelemetry } from 'yaoki/telemetry'
import { idOf, parentOf, type Sdk, startSdk } from './sdk.ts'

let sdk: Sdk
beforeEach(() => {
	sdk = startSdk()
})
afterEach(() => sdk.stop())

const watch = <P extends Policy<unknown>>(payments: P): P => {
	onTestFinished(observe({ payments }, [openTelemetry(otel)]))
	return payments
}
const activeId = (): string | undefined => otel.trace.getActiveSpan()?.spanContext().spanId
const named = (name: string) => sdk.spans().filter((span) => span.name === name)
const unavailable = (): Error => Object.assign(new Error('down'), { name: 'Unavailable' })
const NO_DELAY = { baseDelayMs: 0, maxDelayMs: 0 }

test('each attempt of a retried call has a span, which is active in the operation', async () => {
	const payments = watch(retry({ maxRetries: 2, ...NO_DELAY }))
	const active: unknown[] = []
	const result = await payments.execute(async ({ attempt }) => {
		await Promise.resolve()
		active.push(activeId())
		if (attempt < 2) throw unavailable()
		return activeId()
	})
	const attempts = named('attempt')
	expect(attempts.map(({ attributes }) => attributes['yaoki.attempt'])).toEqual([1, 2, 3])
	expect(active).toEqual(attempts.map(idOf))
	expect(result).toBe(active[2])
	const call = sdk.span('payments')
	expect(attempts.map(parentOf)).toEqual([idOf(call), idOf(call), idOf(call)])
	expect(call.attributes).toMatchObject({ 'yaoki.outcome': 'success', 'yaoki.retries': 2 })
	expect(call.events.map(({ name, attributes }) => [name, attributes?.['error.type']])).toEqual([
		['yaoki.retry_attempt', 'Unavailable'],
		['yaoki.retry_attempt', 'Unavailable'],
	])
})

test('concurrent calls do not mix their spans, their attempts and their events', async () => {
	const payments = watch(pipeline(bulkhead({ maxConcurrent: 2, maxQueue: 100 }), retry(NO_DELAY)))
	const tracer = otel.trace.getTracer('app')
	const calls = Array.from({ length: 10 }, (_, index) =>
		tracer.startActiveSpan(`request ${index}`, async (span) => {
			await payments.execute(
				async ({ attempt }) => {
					await new Promise((resolve) => setImmediate(resolve))
					tracer.startSpan(`query ${index}`).end()
					if (attempt < 1) throw new Error('down')
				},
				{ name: `call ${index}` },
			)
			expect(activeId()).toBe(span.spanContext().spanId)
			span.end()
		}),
	)
	await Promise.all(calls)
	for (const index of calls.keys()) {
		const request = sdk.span(`request ${index}`)
		const call = named('payments').find(({ attributes }) => attributes['yaoki.call'] === `call ${index}`)
		expect(call && parentOf(call)).toBe(idOf(request))
		const attempts = named('attempt').filter((span) => call && parentOf(span) === idOf(call))
		expect(attempts).toHaveLength(2)
		expect(named(`query ${index}`).map(parentOf)).toEqual(attempts.map(idOf))
		expect(call?.events.length).toBeLessThanOrEqual(1)
	}
})

test('hedges are attempts of the same call', async () => {
	const payments = watch(hedge({ delayMs: 0 }))
	const results: (() => void)[] = []
	await payments.execute(
		() =>
			new Promise<void>((resolve) => {
				results.push(resolve)
				if (results.length === 2) resolve()
			}),
	)
	for (const resolve of results) resolve()
	await new Promise((resolve) => setImmediate(resolve))
	const call = sdk.span('payments')
	expect(named('attempt').map(parentOf)).toEqual([idOf(call), idOf(call)])
	// In the order of their ends.
	expect(named('attempt').map(({ attributes }) => attributes['yaoki.hedge.number'])).toEqual([1, undefined])
	expect(call.attributes['yaoki.attempts']).toBe(2)
	expect(call.events.map(({ attributes }) => attributes?.['yaoki.hedge.outcome'])).toEqual(['sent', 'won'])
})

test('a fallback runs in the span of the call', async () => {
	const payments = watch(fallback(async () => activeId()))
	const id = await payments.execute(async () => {
		throw new Error('down')
	})
	const call = sdk.span('payments')
	expect(id).toBe(idOf(call))
	expect(call.status.code).toBe(otel.SpanStatusCode.UNSET)
	expect(call.attributes['yaoki.outcome']).toBe('fallback')
	expect(call.events.map(({ name }) => name)).toEqual(['yaoki.fallback'])
	expect(sdk.span('attempt').status.code).toBe(otel.SpanStatusCode.ERROR)
})

test('a call that an open circuit rejects has a span without attempts', async () => {
	const payments = watch(circuitBreaker())
	payments.isolate()
	await expect(payments.execute(() => 1)).rejects.toThrow()
	const [call, ...others] = sdk.spans()
	expect(others).toEqual([])
	expect(call?.attributes).toMatchObject({
		'yaoki.outcome': 'rejected',
		'yaoki.attempts': 0,
		'error.type': 'CircuitOpenError',
	})
	expect(call?.events.map(({ attributes }) => attributes?.['yaoki.reason'])).toEqual(['isolated'])
})

test('a retry that meets an open circuit is a failure with the first error', async () => {
	const payments = watch(
		pipeline(retry({ ...NO_DELAY, maxRetries: 2 }), circuitBreaker({ failureThreshold: 1 })),
	)
	await expect(payments.execute(() => Promise.reject(unavailable()))).rejects.toMatchObject({
		code: 'YAOKI_CIRCUIT_OPEN',
	})
	expect(sdk.span('payments').attributes).toMatchObject({
		'yaoki.outcome': 'failure',
		'yaoki.attempts': 1,
		'error.type': 'Unavailable',
	})
})

test('the error of a call that failed with an HTTP status is the status', async () => {
	const payments = watch(retry({ ...NO_DELAY, maxRetries: 1 }))
	const failure = Object.assign(new Error('unavailable'), { statusCode: 503 })
	await expect(payments.execute(() => Promise.reject(failure))).rejects.toBe(failure)
	const call = sdk.span('payments')
	expect(call.attributes['error.type']).toBe('503')
	expect(call.events.map(({ name, attributes }) => [name, attributes?.['error.type']])).toEqual([
		['yaoki.retry_attempt', '503'],
		['exception', undefined],
	])
	expect(named('attempt').map(({ attributes }) => attributes['error.type'])).toEqual(['503', '503'])
})

test('a timeout is an error of the call, and its operation ends its own span', async () => {
	const payments = watch(timeout(1))
	const operation = Promise.withResolvers<void>()
	await expect(payments.execute(() => operation.promise)).rejects.toThrow()
	const call = sdk.span('payments')
	expect(call.attributes).toMatchObject({ 'yaoki.outcome': 'failure', 'error.type': 'TimeoutError' })
	expect(call.events.map(({ name }) => name)).toEqual(['yaoki.timeout', 'exception'])
	expect(named('attempt')).toEqual([])
	operation.resolve()
	await operation.promise
	expect(parentOf(sdk.span('attempt'))).toBe(idOf(call))
})

test('an aborted call ends its span', async () => {
	const payments = watch(retry({ baseDelayMs: 60_000, maxDelayMs: 60_000 }))
	const controller = new AbortController()
	const call = payments.execute(
		() => {
			queueMicrotask(() => controller.abort())
			throw new Error('down')
		},
		{ signal: controller.signal },
	)
	await expect(call).rejects.toThrow()
	expect(sdk.span('payments').attributes).toMatchObject({
		'yaoki.outcome': 'failure',
		'error.type': 'AbortError',
	})
})

describe('the result of the operation', () => {
	test.each([
		['a value', () => 7],
		['a promise', async () => 7],
		// biome-ignore lint/suspicious/noThenProperty: the test is about thenables.
		['a thenable', () => ({ then: (resolve: (value: number) => void) => resolve(7) })],
	])('may be %s', async (_, operation) => {
		const payments = watch(retry())
		expect(await payments.execute<unknown>(operation)).toBe(7)
		expect(named('attempt')).toHaveLength(1)
	})

	test('the result of the operation is subscribed to once if it is not a plain promise', async () => {
		let count = 0
		class Query extends Promise<number> {
			// biome-ignore lint/suspicious/noThenProperty: the test is about thenables.
			override then: never = ((...handlers: [never, never]) => {
				count++
				return super.then(...handlers)
			}) as never
		}
		const payments = watch(retry())
		expect(await payments.execute<unknown>(() => new Query((resolve) => resolve(7)))).toBe(7)
		expect(count).toBe(1)
		expect(named('attempt')).toHaveLength(1)
	})
})

test('a policy inside the operation of another one has its span below the attempt', async () => {
	const [outer, inner] = [retry(NO_DELAY), retry(NO_DELAY)]
	onTestFinished(observe({ outer, inner }, [openTelemetry(otel)]))
	await outer.execute(() =>
		inner.execute(({ attempt }) => (attempt < 1 ? Promise.reject(new Error('down')) : 7)),
	)
	const [first, second, third] = named('attempt')
	expect([first, second, third].map((span) => span && parentOf(span))).toEqual([
		idOf(sdk.span('inner')),
		idOf(sdk.span('inner')),
		idOf(sdk.span('outer')),
	])
	expect(parentOf(sdk.span('inner'))).toBe(third && idOf(third))
	expect(sdk.span('inner').events).toHaveLength(1)
	expect(sdk.span('outer').events).toHaveLength(0)
})

test('no spans after `observe` was stopped', async () => {
	const payments = retry()
	const stop = observe({ payments }, [openTelemetry(otel)])
	stop()
	await payments.execute(() => 1)
	expect(sdk.spans()).toEqual([])
})

test('the span of a call that is in flight at the end of the observation was lost', async () => {
	const payments = retry({ maxRetries: 1, ...NO_DELAY })
	const exporter = openTelemetry(otel)
	const stop = observe({ payments }, [exporter])
	const first = Promise.withResolvers<void>()
	const call = payments.execute(({ attempt }) => (attempt === 0 ? first.promise : 'ok'))
	stop()
	expect(named('payments')).toHaveLength(1)
	onTestFinished(observe({ payments }, [exporter]))
	first.reject(unavailable())
	expect(await call).toBe('ok')
	expect(named('payments')).toHaveLength(1)
	await payments.execute(async () => 1)
	expect(named('payments')).toHaveLength(2)
})
