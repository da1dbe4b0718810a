import { execFileSync } from 'node:child_process'
import * as prom from 'prom-client'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { bulkhead, circuitBreaker, pipeline } from 'yaoki'
import { METRICS } from '../../../src/telemetry/metrics/catalog.ts'
import { prometheus } from '../../../src/telemetry/prometheus/prom-client.ts'
import { HAS_PROMETHEUS, PROMTOOL } from '../../support/real-prometheus.ts'
import { createCallEnd } from '../call-end.ts'
import { parseExposition } from '../parse-exposition.ts'
import { eventOf, sourceOf } from '../source.ts'

// Test files share it.
beforeEach(() => prom.register.clear())
afterEach(() => prom.register.clear())

const client = sourceOf({ kind: 'http', name: 'api' })
const retried = createCallEnd({ attempts: 2, retries: 1, durationMs: 700 })

/** A registry with an exporter that has seen one call, with one retry. */
function createRegistry() {
	const registry = new prom.Registry()
	const { onCallEnd, onEvent } = prometheus(prom, { registry }).attach(client)
	onCallEnd?.(retried)
	onEvent?.(eventOf('retry_attempt', { method: 'GET', statusCode: 503 }))
	return registry
}

describe('a registry of prom-client', () => {
	test('a registry of prom-client has the metrics of calls', async () => {
		const text = await createRegistry().metrics()
		expect(text).toContain('http_client_retries_total{service="api",status="503",method="GET"} 1\n')
		expect(text).toContain(
			'http_client_retry_duration_seconds_bucket{service="api",result="success",le="0.5"} 0',
		)
		expect(text).toContain(
			'http_client_retry_duration_seconds_bucket{service="api",result="success",le="1"} 1',
		)
		expect(text).toContain(
			'http_client_retry_duration_seconds_bucket{service="api",result="success",le="+Inf"} 1',
		)
		expect(text).toContain('http_client_retry_duration_seconds_sum{service="api",result="success"} 0.7')
		expect(text).toContain('http_client_retry_duration_seconds_count{service="api",result="success"} 1')
	})

	test('a registry of prom-client is prom.register by default, which may have other metrics', async () => {
		const own = new prom.Counter({ name: 'orders_total', help: 'Orders.' })
		own.inc()
		prometheus(prom).attach(client).onCallEnd?.(retried)
		const text = await prom.register.metrics()
		expect(text).toContain('orders_total 1')
		expect(text).toContain('yaoki_retries_total{service="api"} 1')
	})

	test('a registry of prom-client has every metric of the catalog, with type and help', async () => {
		const registry = createRegistry()
		for (const [name, { type, help }] of Object.entries(METRICS)) {
			const text = await registry.getSingleMetricAsString(name)
			expect(text).toContain(`# TYPE ${name} ${type}`)
			expect(text).toContain(`# HELP ${name} ${help}`)
		}
		expect(registry.getMetricsAsArray()).toHaveLength(Object.keys(METRICS).length)
	})

	test('reads gauges when it is scraped', async () => {
		const registry = new prom.Registry()
		const breaker = circuitBreaker()
		const policy = pipeline(bulkhead({ maxConcurrent: 3 }), breaker)
		prometheus(prom, { registry }).attach(sourceOf({ members: () => [['', policy]] }))
		breaker.isolate()
		const text = await registry.metrics()
		expect(text).toContain('circuit_breaker_state{service="payments"} 1')
		expect(text).toContain('yaoki_circuit_breaker_isolated{service="payments"} 1')
		expect(text).toContain('yaoki_bulkhead_max_concurrent_calls{service="payments"} 3')
	})

	test('adds its default labels, in text and in JSON, and again with the next scrape', async () => {
		const registry = createRegistry()
		registry.setDefaultLabels({ app: 'shop', service: 'not this one' })
		for (let scrape = 0; scrape < 2; scrape++) {
			expect(await registry.metrics()).toContain('yaoki_retries_total{service="api",app="shop"} 1')
			const metric = (await registry.getMetricsAsJSON()).find(({ name }) => name === 'yaoki_retries_total')
			expect(metric?.values).toEqual([{ labels: { service: 'api', app: 'shop' }, value: 1 }])
		}
	})

	test('writes OpenMetrics', async () => {
		const registry = new prom.Registry<prom.OpenMetricsContentType>()
		registry.setContentType(prom.Registry.OPENMETRICS_CONTENT_TYPE)
		prometheus(prom, { registry }).attach(client).onCallEnd?.(retried)
		for (let scrape = 0; scrape < 2; scrape++) {
			const text = await registry.metrics()
			expect(text).toContain('# TYPE yaoki_retries counter\nyaoki_retries_total{service="api"} 1\n')
			expect(text).toMatch(/# EOF\n$/)
		}
	})

	test('a registry of prom-client is aggregated over processes: counters are added, states of an outbox are not', async () => {
		const registries = [createRegistry(), createRegistry()]
		const due = (count: number) => ({
			now: new Date(0),
			throughput: 5,
			relays: [],
			endedRelays: [],
			circuits: [],
			destinations: [
				{
					destination: 'billing',
					due: { count },
					scheduled: { count: 0 },
					inFlight: { count: 0 },
					dead: { count: 0 },
				},
			],
		})
		const source = sourceOf({ kind: 'outbox', name: 'orders', stats: async () => due(7) })
		registries.push(new prom.Registry(), new prom.Registry())
		for (const registry of registries.slice(2)) prometheus(prom, { registry }).attach(source)
		const metrics = await Promise.all(registries.map((registry) => registry.getMetricsAsJSON()))
		// Processes send them as JSON.
		const text = await prom.AggregatorRegistry.aggregate(JSON.parse(JSON.stringify(metrics))).metrics()
		expect(text).toContain('http_client_retries_total{service="api",status="503",method="GET"} 2')
		expect(text).toContain(
			'http_client_retry_duration_seconds_bucket{service="api",result="success",le="1"} 2',
		)
		expect(text).toContain('http_client_retry_duration_seconds_count{service="api",result="success"} 2')
		expect(text).toContain('yaoki_outbox_due_messages{service="orders",destination="billing"} 7')
	})

	test('can be merged, reset and cleared', async () => {
		const registry = createRegistry()
		const merged = prom.Registry.merge([registry, new prom.Registry()])
		expect(await merged.metrics()).toContain('yaoki_retries_total{service="api"} 1')
		registry.resetMetrics()
		const text = await registry.metrics()
		expect(text).toContain('yaoki_retries_total{service="api"} 0')
		expect(text).toContain('yaoki_call_duration_seconds_count{service="api"} 0')
		registry.removeSingleMetric('yaoki_retries_total')
		registry.clear()
		expect((await registry.metrics()).trim()).toBe('')
		expect(createRegistry().getMetricsAsArray()).not.toHaveLength(0)
	})

	test('counts further calls after a reset', async () => {
		const registry = new prom.Registry()
		const { onCallEnd } = prometheus(prom, { registry }).attach(client)
		onCallEnd?.(retried)
		registry.resetMetrics()
		onCallEnd?.(retried)
		expect(await registry.metrics()).toContain('yaoki_retries_total{service="api"} 1')
	})
})

describe('a registry that has a metric of the same name', () => {
	test('keeps it, the others are registered, and the problem is reported once', async () => {
		const warn = vi.spyOn(console, 'warn').mockReturnValue()
		const registry = new prom.Registry()
		const own = new prom.Counter({
			name: 'http_client_retries_total',
			help: 'Mine.',
			labelNames: ['service'],
			registers: [registry],
		})
		own.inc({ service: 'mine' })
		const { onCallEnd, onEvent } = prometheus(prom, { registry }).attach(client)
		onCallEnd?.(retried)
		onEvent?.(eventOf('retry_attempt', { method: 'GET' }))
		const text = await registry.metrics()
		expect(text).toContain('http_client_retries_total{service="mine"} 1')
		expect(text).not.toContain('http_client_retries_total{service="api"')
		expect(text).toContain('yaoki_retries_total{service="api"} 1')
		expect(text).toContain('yaoki_telemetry_failures_total{exporter="prometheus"} 1')
		expect(warn.mock.calls).toEqual([
			[expect.stringContaining('already has the metric http_client_retries_total;')],
		])
	})

	test('gets the values of a second prometheus() in the same series, also after it was cleared', async () => {
		const warn = vi.spyOn(console, 'warn').mockReturnValue()
		const registry = createRegistry()
		const second = prometheus(prom, { registry }).attach(client)
		second.onCallEnd?.(retried)
		second.onEvent?.(eventOf('timeout'))
		const text = await registry.metrics()
		expect(text).toContain('yaoki_retries_total{service="api"} 2')
		expect(text).toContain('yaoki_timeouts_total{service="api"} 1')
		expect(prometheus(prom, { registry })).toBe(prometheus(prom, { registry }))
		registry.clear()
		prometheus(prom, { registry })
		expect(await registry.metrics()).toContain('yaoki_retries_total{service="api"} 2')
		expect(warn).not.toHaveBeenCalled()
	})

	test('may throw', async () => {
		const warn = vi.spyOn(console, 'warn').mockReturnValue()
		const failure = new Error('full')
		const registry = {
			getSingleMetric: () => undefined,
			registerMetric: () => {
				throw failure
			},
		}
		prometheus(prom, { registry }).attach(client).onCallEnd?.(retried)
		expect(warn.mock.calls).toEqual([[expect.stringContaining('prometheus'), failure]])
	})
})

describe('options', () => {
	test('options are validated', () => {
		// @ts-expect-error The module is missing.
		expect(() => prometheus()).toThrow('Invalid argument "prom": expected the module prom-client')
		expect(() => prometheus(prom, { registry: {} as never })).toThrow(
			'Invalid option "registry": expected a registry of prom-client',
		)
		expect(() => prometheus(prom, { maxSeries: 0 })).toThrow('maxSeries')
		expect(() => prometheus(prom, { maxSerie: 5 } as never)).toThrow('Did you mean "maxSeries"?')
	})

	test('maxSeries limits the series', async () => {
		const registry = new prom.Registry()
		const exporter = prometheus(prom, { registry, maxSeries: 4 })
		const { onCallEnd } = exporter.attach(sourceOf({ serviceOf: ({ key = '' }) => key }))
		for (const key of ['a', 'b', 'c', 'd']) onCallEnd?.(createCallEnd({ key }))
		const text = await registry.getSingleMetricAsString('yaoki_attempts_total')
		expect(text.split('\n').slice(2)).toEqual([
			'yaoki_attempts_total{service="a"} 1',
			'yaoki_attempts_total{service="b"} 1',
			'yaoki_attempts_total{service="other"} 2',
		])
	})
})

test('prometheus has the same values as inMemoryMetrics, for hostile label values too', async () => {
	const { inMemoryMetrics } = await import('../../../src/telemetry/in-memory/in-memory.ts')
	const registry = new prom.Registry()
	const inMemory = inMemoryMetrics()
	const source = sourceOf({ kind: 'http', serviceOf: () => `"quoted"\n\\${'x'.repeat(10_000)}` })
	for (const { attach } of [prometheus(prom, { registry }), inMemory]) {
		const { onCallEnd, onEvent } = attach(source)
		onCallEnd?.(retried)
		onEvent?.(eventOf('retry_attempt', { method: 'GET', statusCode: 503 }))
	}
	const fromRegistry = (await registry.metrics()).replaceAll('\n\n', '\n')
	const { samples } = parseExposition(fromRegistry)
	expect(samples).toEqual(parseExposition(await inMemory.toPrometheus()).samples)
})

test.skipIf(!HAS_PROMETHEUS)('promtool accepts the text (skipped without promtool)', async () => {
	const input = await createRegistry().metrics()
	expect(execFileSync(PROMTOOL, ['check', 'metrics'], { input, encoding: 'utf8' })).toBe('')
})
