/** Metrics of real policies, clients, outboxes, relays and idempotency engines, through `observe`. */
import * as otel from '@opentelemetry/api'
import pino from 'pino'
import * as prom from 'prom-client'
import { expect, onTestFinished, test, vi } from 'vitest'
import { circuitBreaker, fallback, keyed, pipeline, retry, timeout } from 'yaoki'
import { ResilientHttpClient } from 'yaoki/http'
import { idempotency, memoryIdempotencyStore } from 'yaoki/idempotency'
import { Outbox, Relay, sqliteOutboxStore } from 'yaoki/outbox'
import { inMemoryMetrics, logger, observe, openTelemetry, prometheus } from 'yaoki/telemetry'
import { parseExposition } from '../parse-exposition.ts'

const fast = { baseDelayMs: 0, maxDelayMs: 0 }

/** An operation that fails the given number of times. */
function failing(times: number) {
	let left = times
	return async () => {
		if (left-- > 0) throw Object.assign(new Error('down'), { code: 'ECONNRESET' })
	}
}

const ignore = () => {}

const linesOf = (text: string) =>
	parseExposition(text)
		.samples.filter(({ name, value }) => value > 0 && !/_(bucket|sum)$/.test(name))
		.map(({ name, labels, value }) => `${name}{${Object.values(labels).join()}} ${value}`)

test('the five answers about an outage, from a policy, a client and a relay', async () => {
	let isDown = true
	const breaker = circuitBreaker({ failureThreshold: 2, resetTimeoutMs: 60_000 })
	const payments = pipeline({ name: 'payments' }, retry({ ...fast, maxRetries: 2 }), breaker)
	const client = new ResilientHttpClient({
		...fast,
		maxRetries: 2,
		fetch: async () => new Response('', { status: isDown ? 503 : 200 }),
	})
	const outbox = new Outbox({ store: sqliteOutboxStore(':memory:'), outsideTransaction: 'allow' })
	await outbox.migrate()
	const relay = new Relay(outbox, {
		destinations: {
			'order.created': async () => {
				throw Object.assign(new Error('no such customer'), { statusCode: 400 })
			},
		},
	})
	onTestFinished(async () => {
		await relay.stop()
		await outbox.close()
	})
	const engine = idempotency({ store: memoryIdempotencyStore(), principal: () => 'anonymous' })
	const registry = new prom.Registry()
	const metrics = inMemoryMetrics()
	const lines: string[] = []
	const stop = observe({ payments, client, relay, outbox, engine }, [
		metrics,
		prometheus(prom, { registry }),
		openTelemetry(otel),
		logger(pino({ level: 'debug' }, { write: (line) => lines.push(line) })),
	])

	await payments.execute(failing(1))
	await payments.execute(failing(3)).catch(ignore)
	await payments.execute(failing(0)).catch(ignore)
	const requests = () => client.get('https://api.test/users').catch(ignore)
	await requests()
	isDown = false
	await requests()
	const isDead = Promise.withResolvers<void>()
	relay.subscribe(({ type }) => type === 'relay_dead_letter' && isDead.resolve())
	await relay.start()
	await outbox.enqueue({ topic: 'order.created', payload: {} })
	await isDead.promise

	const { total, services } = metrics.snapshot()
	expect(services['payments']).toMatchObject({ calls: 3, retriedCalls: 2, retrySuccessRate: 0.5 })
	expect(services['payments']?.circuits.opened).toBeGreaterThan(0)
	expect(services['payments']?.circuits.state).toBe(breaker.stats.state)
	expect(services['api.test']).toMatchObject({ calls: 2, retriedCalls: 1, retries: 2, retrySuccessRate: 0 })
	expect(services['relay']?.deadLetters).toEqual({ total: 1, byCause: { permanent: 1 } })
	expect(total).toMatchObject({ calls: 5, retriedCalls: 3 })

	const text = await metrics.toPrometheus()
	expect(linesOf(text)).toEqual(
		expect.arrayContaining([
			'http_client_retries_total{api.test,503,GET} 2',
			'http_client_retry_duration_seconds_count{api.test,failure} 1',
			'yaoki_calls_total{payments,success} 1',
			'yaoki_retries_stopped_total{api.test,retries-exhausted} 1',
			'yaoki_circuit_breakers{engine,closed} 1',
			'yaoki_outbox_enqueued_messages_total{outbox,order.created} 1',
			'yaoki_outbox_dead_letters{outbox,order.created} 1',
			'yaoki_outbox_relays{outbox} 1',
			'yaoki_relay_deliveries_total{relay,order.created,dead} 1',
			'yaoki_relay_dead_letters_total{relay,order.created,permanent} 1',
		]),
	)
	const fromRegistry = parseExposition((await registry.metrics()).replaceAll('\n\n', '\n'))
	const counters = (samples: readonly { readonly name: string }[]) =>
		samples.filter(({ name }) => name.endsWith('_total'))
	expect(counters(fromRegistry.samples)).toEqual(counters(parseExposition(text).samples))
	expect(lines.some((line) => line.includes('relay_dead_letter'))).toBe(true)

	stop()
	await payments.execute(failing(0)).catch(ignore)
	expect(metrics.snapshot().total.calls).toBe(5)
})

test('a call inside a fallback, a timeout and a keyed breaker', async () => {
	const perHost = keyed(
		({ key = '' }) => key,
		() => circuitBreaker({ failureThreshold: 1 }),
	)
	const search = pipeline(fallback('none'), timeout(1), perHost)
	const metrics = inMemoryMetrics()
	observe({ search }, [metrics])
	await search.execute(({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', reject)), {
		key: 'a.test',
	})
	await search.execute(() => 1, { key: 'b.test' })
	expect(linesOf(await metrics.toPrometheus())).toEqual(
		expect.arrayContaining([
			'yaoki_calls_total{search,fallback} 1',
			'yaoki_calls_total{search,success} 1',
			'yaoki_timeouts_total{search} 1',
			'yaoki_fallbacks_total{search} 1',
			'yaoki_circuit_breakers{search,closed} 1',
			'yaoki_circuit_breakers{search,open} 1',
			'circuit_breaker_state{search} 1',
		]),
	)
})

test('one exporter for two observations, and two of the same policy', async () => {
	vi.spyOn(console, 'warn').mockReturnValue()
	const [a, b] = [retry(fast), retry(fast)]
	const registry = new prom.Registry()
	const exporter = prometheus(prom, { registry })
	observe({ a }, [exporter])
	observe({ b, again: a }, [exporter])
	await a.execute(failing(1))
	await b.execute(failing(1))
	const text = await registry.metrics()
	expect(text).toContain('yaoki_retries_total{service="a"} 1')
	expect(text).toContain('yaoki_retries_total{service="b"} 1')
	expect(text).not.toContain('service="again"')
})

test('10,000 distinct keys as services keep the memory bounded', async () => {
	const policy = retry({ ...fast, maxRetries: 1 })
	const metrics = inMemoryMetrics({ maxSeries: 100 })
	observe({ policy }, [metrics], { service: ({ key }) => key })
	for (let index = 0; index < 10_000; index++)
		await policy.execute(() => index, { key: `tenant-${index}\n${'x'.repeat(1_000)}` })
	expect(metrics.snapshot().total.calls).toBe(10_000)
	expect(Object.keys(metrics.snapshot().services).length).toBeLessThanOrEqual(101)
})

test('a circuit in shadow mode has no state and no transitions that could raise an alert, only a number', async () => {
	const real = circuitBreaker({ failureThreshold: 1 })
	const shadow = circuitBreaker({ failureThreshold: 1, shadow: true })
	const metrics = inMemoryMetrics()
	const stop = observe({ real, shadow }, [metrics])
	await real.settle(failing(1))
	await shadow.settle(failing(1))
	await shadow.settle(failing(1))
	const lines = linesOf(await metrics.toPrometheus())
	stop()
	expect(lines).toContain('circuit_breaker_state{real} 1')
	expect(lines).toContain('yaoki_circuit_breaker_transitions_total{real,closed,open} 1')
	expect(lines.filter((line) => /\{shadow/.test(line) && /state|transitions|rejected/.test(line))).toEqual([])
})

test('beyond maxSeries a service has all of its counters, or none', async () => {
	const metrics = inMemoryMetrics({ maxSeries: 6 })
	const things: Record<string, ReturnType<typeof pipeline>> = Object.fromEntries(
		Array.from({ length: 12 }, (_, index) => [
			`service-${index}`,
			pipeline(retry({ ...fast, maxRetries: 1 })),
		]),
	)
	const stop = observe(things, [metrics])
	for (const policy of Object.values(things)) await policy.execute(failing(1))
	const text = await metrics.toPrometheus()
	stop()
	const servicesOf = (name: string) => [
		...new Set([...text.matchAll(new RegExp(`^${name}\\{service="([^"]*)"`, 'gm'))].map(([, one]) => one)),
	]
	// Two series of a service: success and failure.
	const expected = ['service-0', 'service-1', 'service-2', 'other']
	for (const name of [
		'yaoki_calls_total',
		'yaoki_attempts_total',
		'yaoki_retries_total',
		'yaoki_retried_calls_total',
	])
		expect(servicesOf(name), name).toEqual(expected)
	expect(servicesOf('yaoki_call_duration_seconds_count')).toEqual(expected)
})

test('beyond maxSeries the retry success rate of all calls stays right, and the services of a snapshot are bounded', async () => {
	const metrics = inMemoryMetrics({ maxSeries: 2 })
	const policies = Array.from({ length: 12 }, (_, index) => [
		`service-${index}`,
		pipeline(retry({ ...fast, maxRetries: 1 }), circuitBreaker()),
	])
	const things: Record<string, ReturnType<typeof pipeline>> = Object.fromEntries(policies)
	const stop = observe(things, [metrics])
	for (const policy of Object.values(things)) await policy.execute(failing(1))
	const { total, services } = metrics.snapshot()
	const text = await metrics.toPrometheus()
	stop()
	expect(total).toMatchObject({ calls: 12, retriedCalls: 12, retrySuccessRate: 1 })
	expect(services['other']).toMatchObject({ retrySuccessRate: 1, circuits: { state: 'closed' } })
	expect(Object.keys(services).length).toBeLessThanOrEqual(3)
	expect(text).toMatch(/yaoki_retried_calls_total\{service="other",result="success"\} 11/)
	expect(text).toMatch(/yaoki_circuit_breakers\{service="other",state="closed"\}/)
})
