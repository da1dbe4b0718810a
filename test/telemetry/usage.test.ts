/** The first program of a user: everything that the package has, observed by every exporter in one statement, with the real packages. */
import { createServer } from 'node:http'
import * as otel from '@opentelemetry/api'
import { pino as createPino } from 'pino'
import * as prom from 'prom-client'
import { expect, onTestFinished, test } from 'vitest'
import { circuitBreaker, pipeline, retry } from 'yaoki'
import { ResilientHttpClient } from 'yaoki/http'
import { idempotency, memoryIdempotencyStore, nodeIdempotency } from 'yaoki/idempotency'
import { Outbox, Relay, sqliteOutboxStore } from 'yaoki/outbox'
import { inMemoryMetrics, logger, observe, openTelemetry, prometheus } from 'yaoki/telemetry'
import { listen } from '../support/listen.ts'
import { temporaryFile } from '../support/temporary-file.ts'
import { startSdk } from './opentelemetry/sdk.ts'

const fast = { baseDelayMs: 1, maxDelayMs: 2 }

/** Every second request gets 503, the idempotent ones too. */
async function startServer() {
	const engine = idempotency({ store: memoryIdempotencyStore(), principal: () => 'anonymous' })
	let requests = 0
	const server = createServer(
		nodeIdempotency(engine, (_, response) => {
			response.statusCode = requests++ % 2 === 0 ? 503 : 200
			response.end('{}')
		}),
	)
	const port = await listen(server)
	onTestFinished(() => {
		server.closeAllConnections()
		server.close()
	})
	return { engine, host: `127.0.0.1:${port}` }
}

async function startOutbox() {
	const outbox = new Outbox({ store: sqliteOutboxStore(temporaryFile()), outsideTransaction: 'allow' })
	await outbox.migrate()
	const relay = new Relay(outbox, {
		destinations: {
			'order.placed': async () => {
				throw Object.assign(new Error('no such product'), { statusCode: 400 })
			},
		},
	})
	onTestFinished(async () => {
		await relay.stop()
		await outbox.close()
	})
	return { outbox, relay }
}

test('one statement observes a policy, a client, a relay, an outbox and an engine with all exporters', async () => {
	const sdk = startSdk()
	onTestFinished(async () => {
		prom.register.clear()
		await sdk.stop()
	})
	const lines: string[] = []
	const pino = () => createPino({ level: 'debug' }, { write: (line) => lines.push(line) })
	const payments = pipeline(retry({ ...fast, maxRetries: 2 }), circuitBreaker({ failureThreshold: 3 }))
	const client = new ResilientHttpClient(fast)
	const { engine, host } = await startServer()
	const { outbox, relay } = await startOutbox()

	const metrics = inMemoryMetrics()
	const stop = observe({ payments, client, relay, outbox, engine }, [
		metrics,
		prometheus(prom, { registry: prom.register }),
		openTelemetry(otel),
		logger(pino()),
	])

	const isDead = Promise.withResolvers<void>()
	relay.subscribe(({ type }) => type === 'relay_dead_letter' && isDead.resolve())
	await relay.start()
	await payments.execute(() => 'paid')
	await payments.settle(() => Promise.reject(Object.assign(new Error('down'), { code: 'ECONNRESET' })))
	const response = await client.post(`http://${host}/orders`, { headers: { 'idempotency-key': 'order-7' } })
	await response.arrayBuffer()
	await outbox.enqueue({ topic: 'order.placed', payload: { id: 7 } })
	await isDead.promise

	const { total, services } = metrics.snapshot()
	expect(total).toMatchObject({ calls: 3, retriedCalls: 2, retrySuccessRate: 0.5, meanRetriesPerCall: 1 })
	expect(services['payments']?.circuits).toEqual({ opened: 1, reopened: 0, state: 'open' })
	expect(services[host]).toMatchObject({ calls: 1, retries: 1, retrySuccessRate: 1 })
	expect(services['relay']?.deadLetters).toEqual({ total: 1, byCause: { permanent: 1 } })

	for (const text of [await metrics.toPrometheus(), await prom.register.metrics()])
		for (const line of [
			`http_client_retries_total{service="${host}",status="503",method="POST"} 1`,
			'circuit_breaker_state{service="payments"} 1',
			'yaoki_idempotency_requests_total{service="engine",result="claimed"} 2',
			'yaoki_outbox_dead_letters{service="outbox",destination="order.placed"} 1',
			'yaoki_relay_dead_letters_total{service="relay",destination="order.placed",cause="permanent"} 1',
		])
			expect(text).toContain(line)

	expect(sdk.spans().map(({ name }) => name)).toEqual(
		expect.arrayContaining(['payments', host, 'POST', 'enqueue order.placed', 'deliver order.placed']),
	)
	const logged = lines.map((line): { readonly level: number; readonly event: string } => JSON.parse(line))
	expect(logged).toEqual(
		expect.arrayContaining([
			expect.objectContaining({ level: 20, event: 'retry_attempt', service: host, statusCode: 503 }),
			expect.objectContaining({ level: 40, event: 'state_change', service: 'payments', to: 'open' }),
			expect.objectContaining({
				level: 50,
				event: 'relay_dead_letter',
				service: 'relay',
				cause: 'permanent',
			}),
		]),
	)

	stop()
	await payments.settle(() => 'paid')
	expect(metrics.snapshot().total.calls).toBe(3)
})
