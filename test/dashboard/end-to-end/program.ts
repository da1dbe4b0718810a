/** A program with a policy, an outbox and a relay, and the dashboard of all of them below a path of its server. */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bulkhead, circuitBreaker, HttpError, pipeline, retry, timeout } from '../../../src/core/index.ts'
import { type Dashboard, dashboard } from '../../../src/dashboard/index.ts'
import { httpDestination, Outbox, Relay, sqliteOutboxStore, Webhooks } from '../../../src/outbox/index.ts'
import { type Receiver, startReceiver } from './receiver.ts'

const PATH = '/ops/retries'
const CALL_INTERVAL_MS = 25
/** One of this many payments has a receipt. */
const RECEIPT_EVERY = 4

/** The access of a request. A proxy in front of a real program would set these headers. */
export const USER_HEADER = 'x-user'
export const ACCESS_HEADER = 'x-access'

export interface Program {
	/** The URL of the page. */
	readonly url: string
	readonly receiver: Receiver
	/** Enqueues a receipt, and returns the id of its message. */
	enqueue(order: string): Promise<string>
	/** Creates an endpoint of webhooks at this path of the receiver. */
	createEndpoint(path: string): Promise<void>
	/** Sends an event to all endpoints. */
	publish(): Promise<void>
	/** Stops the server and its dashboard. The policy and the relay go on. */
	stopServer(): Promise<void>
	/** Starts the server again, on the same port. */
	startServer(): Promise<void>
	close(): Promise<void>
}

export async function startProgram(): Promise<Program> {
	const folder = mkdtempSync(join(tmpdir(), 'yaoki-dashboard-'))
	const receiver = await startReceiver()
	const payments = pipeline(
		{ name: 'payments' },
		bulkhead({ maxConcurrent: 20 }),
		circuitBreaker({ failureThreshold: 5, resetTimeoutMs: 500 }),
		retry({ maxRetries: 1, baseDelayMs: 5 }),
		timeout(60_000),
	)
	const outbox = new Outbox({
		store: sqliteOutboxStore({ file: join(folder, 'shop.db') }),
		outsideTransaction: 'allow',
		historyForMs: Number.POSITIVE_INFINITY,
	})
	await outbox.migrate()
	const { hostname, port: receiverPort } = new URL(receiver.url)
	const webhooks = new Webhooks(outbox, {
		ssrfProtection: { allow: [hostname], allowHttp: true, ports: [Number(receiverPort)] },
	})
	const relay = new Relay(outbox, {
		name: 'relay-1',
		destinations: { ...webhooks.destinations(), receipts: httpDestination({ url: receiver.url }) },
		attemptLog: true,
		pollMs: 100,
		rampUpMs: 500,
		retry: { baseDelayMs: 50, maxDelayMs: 200, maxRetries: 1_000 },
		circuitBreaker: { failureThreshold: 5, resetTimeoutMs: 500 },
	})
	await relay.start()

	const enqueue = async (order: string): Promise<string> => {
		const payload = { order, customer: { name: 'Sato', note: 'a gift' } }
		const { id } = await outbox.enqueue({
			topic: 'order.paid',
			destination: 'receipts',
			key: order,
			payload,
		})
		return id
	}
	async function charge(order: string, signal: AbortSignal): Promise<void> {
		const response = await fetch(receiver.url, { method: 'POST', body: JSON.stringify({ order }), signal })
		await response.arrayBuffer()
		if (!response.ok) throw new HttpError(response.status)
	}
	const end = new AbortController()
	async function run(): Promise<void> {
		for (let number = 1; !end.signal.aborted; number++) {
			await payments.settle(({ signal }) => charge(`payment-${number}`, signal))
			if (number % RECEIPT_EVERY === 0) await enqueue(`order-${number}`)
			await new Promise((resolve) => setTimeout(resolve, CALL_INTERVAL_MS))
		}
	}
	const running = run()

	let page: Dashboard
	let server: Server
	let port = 0
	const startServer = async (): Promise<void> => {
		page = dashboard({
			observe: { payments, outbox, relay, webhooks },
			authorize: ({ headers }) => (headers.get(ACCESS_HEADER) === 'read' ? 'read' : 'all'),
			actor: ({ headers }) => headers.get(USER_HEADER) ?? 'unknown',
		})
		server = createServer((request, response) => {
			if (request.url?.startsWith(PATH)) page.node(request, response)
			else response.writeHead(404).end()
		})
		server.listen(port, '127.0.0.1')
		await once(server, 'listening')
		port = (server.address() as AddressInfo).port
	}
	const stopServer = async (): Promise<void> => {
		await page.close()
		server.closeAllConnections()
		await new Promise((resolve) => server.close(resolve))
	}
	await startServer()

	return {
		url: `http://127.0.0.1:${port}${PATH}/`,
		receiver,
		enqueue,
		async createEndpoint(path) {
			await webhooks.endpoints.create({ url: new URL(path, receiver.url).href, topics: ['*'] })
		},
		async publish() {
			await webhooks.enqueue({ topic: 'order.paid', payload: { type: 'order.paid', data: {} } })
		},
		startServer,
		stopServer,
		async close() {
			end.abort()
			await running
			await stopServer()
			await relay.stop()
			await webhooks.close()
			await outbox.close()
			await receiver.close()
			rmSync(folder, { recursive: true })
		},
	}
}
