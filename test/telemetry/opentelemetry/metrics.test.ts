import * as otel from '@opentelemetry/api'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { circuitBreaker, HttpError, pipeline, retry } from 'yaoki'
import { openTelemetry } from 'yaoki/telemetry'
import { DURATION_BOUNDS, OTEL_METRICS } from '../../../src/telemetry/opentelemetry/metric-definitions.ts'
import { attemptInfo, callEnd, callInfo, request, source } from './infos.ts'
import { type Sdk, startSdk } from './sdk.ts'

let sdk: Sdk
beforeEach(() => {
	sdk = startSdk()
})
afterEach(() => sdk.stop())

/** Without the series that start with 0, so that rates see their first value. */
const counted = async (name: string) => (await sdk.points(name)).filter(({ value }) => value !== 0)

test('calls are measured by service and outcome', async () => {
	const observer = openTelemetry(otel).attach(source())
	const info = callInfo()
	observer.onCallEnd?.(callEnd(info))
	observer.onCallEnd?.(callEnd(info, { retries: 2 }))
	observer.onCallEnd?.(callEnd(info, { outcome: 'failure', error: new RangeError() }))
	observer.onCallEnd?.(callEnd(info, { outcome: 'fallback', retries: 1 }))
	const service = { 'yaoki.service': 'payments' }
	expect(await sdk.points('yaoki.call.duration')).toMatchObject([
		{ attributes: { ...service, 'yaoki.outcome': 'success' }, value: { count: 2, sum: 0.5 } },
		{ attributes: { ...service, 'yaoki.outcome': 'failure', 'error.type': 'RangeError' } },
		{ attributes: { ...service, 'yaoki.outcome': 'fallback' }, value: { count: 1 } },
	])
	expect(await sdk.points('yaoki.retries')).toMatchObject([{ attributes: service, value: 3 }])
})

test('each attempt of a request is measured by the conventions', async () => {
	const observer = openTelemetry(otel).attach(source({ kind: 'http' }))
	const info = callInfo({ key: 'http://[::1]:8080' })
	const extension = request('http://[::1]:8080/orders', {}, 'POST')
	for (const result of [new Response(), new HttpError(503), new RangeError()])
		await Promise.resolve(
			observer.around?.(attemptInfo(info, { extension }), () =>
				result instanceof Error ? Promise.reject(result) : Promise.resolve(result),
			),
		).catch(() => undefined)
	const server = { 'http.request.method': 'POST', 'server.address': '::1', 'server.port': 8080 }
	const points = await sdk.points('http.client.request.duration')
	expect(points.map(({ attributes }) => attributes)).toEqual([
		{ ...server, 'http.response.status_code': 200 },
		{ ...server, 'http.response.status_code': 503, 'error.type': '503' },
		{ ...server, 'error.type': 'RangeError' },
	])
	expect(points[0]?.value).toMatchObject({ buckets: { boundaries: DURATION_BOUNDS } })
})

test('requests are left to another instrumentation with `attempts: false`', async () => {
	const observer = openTelemetry(otel, { attempts: false }).attach(source({ kind: 'http' }))
	const extension = request('http://localhost/')
	await observer.around?.(attemptInfo(callInfo(), { extension }), async () => new Response())
	expect(await sdk.points('http.client.request.duration')).toEqual([])
})

test('circuits: transitions are counted, and the gauge has the worst state of a service', async () => {
	const [closed, open] = [circuitBreaker(), circuitBreaker()]
	open.isolate()
	const circuits = new Map([
		['a', pipeline(retry(), closed)],
		['b', pipeline(retry(), open)],
	])
	const members = vi.fn(() => circuits)
	const exporter = openTelemetry(otel)
	const observer = exporter.attach(source({ members }))
	const byKey = exporter.attach(source({ name: 'client', members, serviceOf: ({ key }) => key ?? '' }))
	const opened = {
		type: 'state_change',
		timestamp: 0,
		emitter: 'breaker',
		from: 'closed',
		to: 'open',
	}
	observer.onEvent?.(opened)
	expect(await counted('yaoki.circuit_breaker.transitions')).toMatchObject([
		{
			attributes: { 'yaoki.service': 'payments', 'yaoki.circuit.from': 'closed', 'yaoki.circuit.to': 'open' },
			value: 1,
		},
	])
	expect(await sdk.points('circuit_breaker.state')).toMatchObject([
		{ attributes: { 'yaoki.service': 'payments' }, value: 1 },
		{ attributes: { 'yaoki.service': 'a' }, value: 0 },
		{ attributes: { 'yaoki.service': 'b' }, value: 1 },
	])
	// The SDK repeats the last value of a series, so the reads are counted.
	observer.detach?.()
	members.mockClear()
	await sdk.points('circuit_breaker.state')
	expect(members).toHaveBeenCalledTimes(1)
	byKey.detach?.()
	await sdk.points('circuit_breaker.state')
	expect(members).toHaveBeenCalledTimes(1)
})

test('dead letters are counted by destination and cause', async () => {
	const observer = openTelemetry(otel).attach(source({ name: 'relay', kind: 'relay' }))
	const dead = {
		type: 'relay_dead_letter',
		timestamp: 0,
		emitter: 'relay',
		destination: 'billing',
		topic: 'order.placed',
		cause: 'permanent',
	}
	observer.onEvent?.(dead)
	expect(await counted('yaoki.relay.dead_letters')).toMatchObject([
		{
			attributes: {
				'yaoki.service': 'payments',
				'messaging.destination.subscription.name': 'billing',
				'yaoki.cause': 'permanent',
			},
		},
	])
})

test('no metrics with `metrics: false`', async () => {
	const observer = openTelemetry(otel, { metrics: false }).attach(source())
	observer.onCallEnd?.(callEnd(callInfo()))
	for (const name of Object.keys(OTEL_METRICS)) expect(await sdk.points(name)).toEqual([])
})

test('services beyond maxSeries are recorded as other, and no call is lost', async () => {
	let count = 0
	const observer = openTelemetry(otel).attach(source({ serviceOf: () => `service ${count++}` }))
	for (let call = 0; call < 1_500; call++) {
		const outcome = call % 2 ? 'success' : 'failure'
		observer.onCallEnd?.(callEnd(callInfo(), { outcome, error: 'down' }))
	}
	const points = await sdk.points('yaoki.call.duration')
	const services = new Set(points.map(({ attributes }) => attributes['yaoki.service']))
	expect(services.has('other')).toBe(true)
	expect(services.size).toBeLessThanOrEqual(1_001)
	expect(points.reduce((sum, { value }) => sum + (value as { count: number }).count, 0)).toBe(1_500)
})
