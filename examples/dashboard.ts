/**
 * A program whose dependency is down, with an outbox and a dashboard of both. It prints what the dashboard says, and ends.
 * With --serve it runs until Ctrl-C: open the URL.
 */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { circuitBreaker, HttpError, pipeline, retry, timeout } from 'yaoki'
import { dashboard } from 'yaoki/dashboard'
import { httpDestination, Outbox, Relay, sqliteOutboxStore } from 'yaoki/outbox'

const isServing = process.argv.includes('--serve')
const folder = mkdtempSync(join(tmpdir(), 'yaoki-dashboard-'))

async function listen(onRequest: RequestListener): Promise<{ server: Server; url: string }> {
	const server = createServer(onRequest)
	server.listen(0, '127.0.0.1')
	await once(server, 'listening')
	return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` }
}

// The dependency: a payment service that is down.
const bank = await listen((_request, response) => response.writeHead(503).end('maintenance'))

const payments = pipeline(
	{ name: 'payments' },
	circuitBreaker({ failureThreshold: 5, resetTimeoutMs: 60_000 }),
	retry({ maxRetries: 1, baseDelayMs: 10 }),
	timeout(1_000),
)
async function charge(signal: AbortSignal): Promise<void> {
	const response = await fetch(bank.url, { method: 'POST', signal })
	await response.arrayBuffer()
	if (!response.ok) throw new HttpError(response.status)
}

// Receipts are messages, and their receiver is the same service.
const outbox = new Outbox({ store: sqliteOutboxStore({ file: join(folder, 'shop.db') }) })
await outbox.migrate()
const relay = new Relay(outbox, {
	destinations: { receipts: httpDestination({ url: bank.url }) },
	circuitBreaker: { failureThreshold: 3, resetTimeoutMs: 60_000 },
})
await relay.start()

// Without authorize, the dashboard serves this machine only.
const page = dashboard({ observe: { payments, outbox, relay } })
const web = await listen(page.node)

/** The circuit opens at the fifth failure: the last customers get their error immediately. */
async function pay(): Promise<void> {
	for (let order = 1; order <= 7; order++) {
		await payments.settle(({ signal }) => charge(signal))
		await outbox.enqueue({ topic: 'order.paid', destination: 'receipts', payload: { order } })
	}
}

await pay()
if (isServing) {
	console.log(`Open ${web.url} or run: npx yaoki top ${web.url}`)
	const timer = setInterval(() => void pay(), 2_000)
	await once(process, 'SIGINT')
	clearInterval(timer)
} else {
	const read = async (path: string) => (await fetch(`${web.url}_yaoki/api/${path}`)).json()
	const { circuits } = await read('overview')
	for (const { source, state, lastError } of circuits)
		console.log(`${source}: ${state}; last error ${lastError}`)
	const { calls } = await read('calls')
	console.log(`${calls.length} failed calls, the last one: ${calls[0].stop}`)
	const found = await read('messages?outbox=outbox&destination=receipts')
	console.log(`${found.messages.length} receipts wait`)
}

await page.close()
await relay.stop()
await outbox.close()
for (const { server } of [web, bank]) {
	server.close()
	server.closeAllConnections()
}
rmSync(folder, { recursive: true })
