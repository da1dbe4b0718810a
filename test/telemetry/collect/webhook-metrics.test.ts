/** Metrics, log lines and spans of real webhooks, through `observe`. */
import * as prom from 'prom-client'
import { expect, onTestFinished, test } from 'vitest'
import type { Relay } from 'yaoki/outbox'
import { inMemoryMetrics, logger, observe, prometheus } from 'yaoki/telemetry'
import { A, B, setupWebhooks } from '../../outbox/webhooks/setup.ts'
import { storingLogger } from '../logs/lines.ts'
import { parseExposition } from '../parse-exposition.ts'
import { eventOf, sourceOf } from '../source.ts'

const MINUTE = 60_000
const C = 'https://c.example.com/hooks'

/** Quick, so that ten attempts take minutes. */
const RETRY = { growth: 'constant', baseDelayMs: 20_000, maxRetries: 1_000 } as const

async function setup() {
	const shop = await setupWebhooks({ disableAfterMs: 30 * MINUTE, name: 'customers' })
	onTestFinished(() => shop[Symbol.asyncDispose]())
	const { webhooks, system } = shop
	const { outbox, clock } = system
	const relay: Relay = await shop.start({ retry: RETRY }, { pollMs: 10_000 })
	const metrics = inMemoryMetrics()
	const registry = new prom.Registry()
	const { lines, target } = storingLogger()
	onTestFinished(
		observe({ hooks: webhooks, outbox, relay }, [
			metrics,
			prometheus(prom, { registry }),
			logger(target, { intervalMs: 10_000, level: 'info' }),
		]),
	)
	/** The values by metric and labels. */
	async function samples(start: string): Promise<Readonly<Record<string, number>>> {
		const all = parseExposition(await metrics.toPrometheus()).samples
		return Object.fromEntries(
			all
				.filter(({ name }) => name.startsWith(start))
				.map(({ name, labels, value }) => [`${name}{${Object.values(labels).join()}}`, value]),
		)
	}
	const create = async (url: string) =>
		(await webhooks.endpoints.create({ url, topics: ['*'], tenant: 'acme' })).endpoint
	const enqueue = () => webhooks.enqueue({ topic: 'order.placed', tenant: 'acme', payload: 1 })
	return { ...shop, clock, outbox, lines, registry, samples, create, enqueue }
}

test('webhooks have gauges of their endpoints, and a counter of those that failures disabled', async () => {
	const { create, enqueue, respond, samples, clock, webhooks, registry } = await setup()
	await create(A)
	const failing = await create(B)
	await create(C)
	const other = await create('https://d.example.com/hooks')
	await webhooks.endpoints.disable(other.id)
	respond(B, () => new Response(null, { status: 500 }))
	respond(C, () => new Response(null, { status: 410 }))
	await enqueue()
	await clock.advance(10 * MINUTE)
	const read = await samples('yaoki_webhook')
	expect(read).toEqual({
		'yaoki_webhook_enabled_endpoints{hooks}': 2,
		'yaoki_webhook_failing_endpoints{hooks}': 1,
		'yaoki_webhook_disabled_endpoints{hooks,operator}': 1,
		'yaoki_webhook_disabled_endpoints{hooks,failing}': 0,
		'yaoki_webhook_disabled_endpoints{hooks,gone}': 1,
		'yaoki_webhook_longest_failure_seconds{hooks}': expect.any(Number),
		'yaoki_webhook_endpoints_disabled_total{hooks,operator}': 1,
		'yaoki_webhook_endpoints_disabled_total{hooks,gone}': 1,
	})
	const age = read['yaoki_webhook_longest_failure_seconds{hooks}'] ?? 0
	const { failingSince } = (await webhooks.endpoints.find(failing.id)) ?? {}
	expect(age * 1_000).toBe(clock.wallNow() - Number(failingSince))
	expect(age).toBeGreaterThan(500)

	await clock.advance(30 * MINUTE)
	expect((await webhooks.stats()).failingForMs).toBeNull()
	expect(await registry.getSingleMetricAsString('yaoki_webhook_endpoints_disabled_total')).toContain(
		'{service="hooks",reason="failing"} 1',
	)
})

test('all endpoints are one destination in metrics, and events have their names', async () => {
	const { create, enqueue, respond, samples, clock, outbox, registry } = await setup()
	const endpoints = await Promise.all(
		Array.from({ length: 30 }, (_, index) => create(`https://customer-${index}.example.com/hooks`)),
	)
	respond(endpoints[0]?.url ?? '', () => new Response(null, { status: 500 }))
	respond(endpoints[1]?.url ?? '', () => new Response(null, { status: 410 }))
	await enqueue()
	await clock.advance(5 * MINUTE)
	await enqueue()
	await clock.advance(30_000)
	const deliveries = await samples('yaoki_relay_deliveries_total')
	expect(deliveries['yaoki_relay_deliveries_total{relay,webhook:*,sent}']).toBe(28 * 2)
	expect(Object.keys(deliveries).every((name) => name.includes('{relay,webhook:*,'))).toBe(true)
	const transitions = await samples('yaoki_relay_transitions_total')
	expect(transitions['yaoki_relay_transitions_total{relay,webhook:*,closed,open}']).toBeGreaterThan(0)

	const gauges = await samples('yaoki_outbox')
	expect(Object.keys(gauges).filter((name) => /webhook:[^*]/.test(name))).toEqual([])
	const stats = await outbox.stats()
	const sum = (name: 'due' | 'scheduled') =>
		stats.destinations.reduce((total, one) => total + one[name].count, 0)
	expect(stats.destinations.length).toBeGreaterThan(1)
	expect(gauges['yaoki_outbox_due_messages{outbox,webhook:*}']).toBe(sum('due'))
	expect(gauges['yaoki_outbox_scheduled_messages{outbox,webhook:*}']).toBe(sum('scheduled'))
	expect(gauges['yaoki_outbox_oldest_age_seconds{outbox,webhook:*}']).toBeGreaterThan(300)
	// The message of the endpoint that is gone is due, and does not make the others late.
	expect(Math.max(...stats.destinations.map(({ oldestLagMs }) => oldestLagMs ?? 0))).toBeGreaterThan(1_000)
	expect(gauges['yaoki_outbox_oldest_lag_seconds{outbox,webhook:*}']).toBe(0)
	expect(Object.keys(gauges).filter((name) => name.includes('circuit_state'))).toEqual([])
	expect(await registry.metrics()).not.toMatch(/webhook:[0-9a-f]/)
})

test('a name from "service" is that of all endpoints too', async () => {
	const metrics = inMemoryMetrics()
	const serviceOf = ({ destination }: { readonly destination?: string | undefined }) => `to ${destination}`
	const observer = metrics.attach(sourceOf({ kind: 'relay', serviceOf }))
	for (const destination of ['webhook:1', 'webhook:2', 'billing']) {
		observer.onEvent?.(eventOf('relay_sent', { destination, durationMs: 1, lagMs: 1 }))
		observer.onEvent?.(eventOf('relay_handlers_hung', { destination }))
	}
	const services = (name: string) =>
		metrics.toPrometheus().then((text) =>
			parseExposition(text)
				.samples.filter((one) => one.name === name && one.value > 0)
				.map(({ labels: { service }, value }) => [service, value]),
		)
	for (const name of ['yaoki_relay_deliveries_total', 'yaoki_relay_hung_handlers_total'])
		expect(await services(name)).toEqual([
			['to webhook:*', 2],
			['to billing', 1],
		])
})

test('failing endpoints are logged at info, and those that failures disabled as warnings', async () => {
	const { create, enqueue, respond, clock, lines, webhooks } = await setup()
	const gone = [await create(A), await create(B)]
	const failing = await create(C)
	for (const url of [A, B]) respond(url, () => new Response(null, { status: 410 }))
	let isDown = true
	respond(C, () => new Response(null, { status: isDown ? 503 : 200 }))
	await enqueue()
	await clock.advance(10 * MINUTE)
	isDown = false
	await clock.advance(20 * MINUTE)
	await webhooks.endpoints.disable(failing.id)
	await webhooks.endpoints.enable(failing.id)
	const own = lines.filter(({ fields }) => String(fields['event']).startsWith('webhook'))
	const messages = own.map(({ level, message }) => `${level} ${message}`)
	const recovered = own.find(({ fields }) => fields['event'] === 'webhook_endpoint_recovered')
	const failures = recovered?.fields['failures']
	expect(failures).toBeGreaterThan(1)
	expect([...messages].sort()).toEqual(
		[
			`info hooks: webhook endpoint ${failing.id} fails`,
			`info hooks: webhook endpoint ${failing.id} recovered after ${failures} failures`,
			`info hooks: webhook endpoint ${failing.id} disabled: operator`,
			`info hooks: webhook endpoint ${failing.id} enabled`,
			...gone.map(({ id }) => `warn hooks: webhook endpoint ${id} disabled: gone`),
		].sort(),
	)
	expect(own[0]?.fields).toMatchObject({ service: 'hooks', emitter: 'customers', tenant: 'acme' })
	expect(JSON.stringify(lines)).not.toContain('whsec_')
})

test('an outage that makes many endpoints fail is one line, and each disabled endpoint has its own', () => {
	const { lines, target } = storingLogger()
	const observer = logger(target).attach(sourceOf({ kind: 'webhooks', name: 'hooks' }))
	onTestFinished(() => observer.detach?.())
	for (const endpointId of ['1', '2', '3']) {
		const error = { errorType: 'TypeError', errorMessage: 'fetch failed' }
		observer.onEvent?.(eventOf('webhook_endpoint_failing', { endpointId, ...error }))
		observer.onEvent?.(eventOf('webhook_endpoint_disabled', { endpointId, reason: 'gone' }))
	}
	expect(lines.map(({ message }) => message)).toEqual([
		'hooks: webhook endpoint 1 fails',
		...['1', '2', '3'].map((id) => `hooks: webhook endpoint ${id} disabled: gone`),
	])
})

test('webhooks without endpoints have gauges of 0', async () => {
	const { samples } = await setup()
	expect(Object.values(await samples('yaoki_webhook'))).toEqual([0, 0, 0, 0, 0, 0])
	expect(Object.keys(await samples('yaoki_outbox')).filter((name) => name.includes('webhook'))).toEqual([])
})

test('an event of a later version is not counted', async () => {
	const metrics = inMemoryMetrics()
	metrics.attach(sourceOf({ kind: 'webhooks' })).onEvent?.(eventOf('webhook_of_a_later_version'))
	expect(await metrics.toPrometheus()).not.toContain('undefined')
})
