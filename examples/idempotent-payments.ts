/**
 * A payment API with idempotency keys: the connection breaks after the charge, the process stops in the middle of a request, a key is used twice.
 * Each order is charged once.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { ResilientHttpClient } from 'yaoki/http'
import { idempotency, nodeIdempotency, sqliteIdempotencyStore } from 'yaoki/idempotency'

const folder = mkdtempSync(join(tmpdir(), 'yaoki-payments-'))
const store = sqliteIdempotencyStore(join(folder, 'payments.db'))
await store.migrate()

const customers = new Map([
	['Bearer token-of-ada', 'ada'],
	['Bearer token-of-bob', 'bob'],
])
const engine = idempotency({
	// A part of every key: services that share a database do not share keys.
	name: 'payments',
	store,
	// Who the caller is, as the token proves. Never a header that any client can set.
	principal: ({ raw }) => customers.get((raw as IncomingMessage).headers.authorization ?? ''),
	waitMs: 10_000,
	// Short, because the example waits for the end of a lease. The default is a minute, extended while the handler runs.
	leaseMs: 1_000,
	maxRunMs: 1_000,
})
engine.subscribe(({ type }) => console.log(`  ${type}`))

/** The payment provider. It charges once per idempotency key, as providers do. */
const charges: string[] = []
async function chargeCard(amount: number, { idempotencyKey }: { idempotencyKey: string }): Promise<string> {
	if (!charges.includes(idempotencyKey)) charges.push(idempotencyKey)
	console.log(`  the card is charged: ${amount}`)
	return `receipt ${charges.indexOf(idempotencyKey) + 1}`
}

let fault: 'none' | 'connection' | 'process' = 'none'

const server = createServer(
	nodeIdempotency(engine, async (request: IncomingMessage, response: ServerResponse, context) => {
		const { amount } = (await json(request)) as { amount: number }
		// The result of a step is stored. If the handler runs again with the same key, the card is not charged again.
		const receipt = await context.step('charge', ({ idempotencyKey }) =>
			chargeCard(amount, { idempotencyKey }),
		)
		const occurring = fault
		fault = 'none'
		if (occurring !== 'none') request.socket.destroy()
		// As if the process was killed here: the handler never ends.
		if (occurring === 'process') await new Promise(() => {})
		response.writeHead(201, { 'content-type': 'application/json' }).end(JSON.stringify({ receipt, amount }))
	}),
)
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))

const client = new ResilientHttpClient({
	baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
	headers: { authorization: 'Bearer token-of-ada' },
	idempotency: 'auto', // a key per call, the same for all its attempts
	baseDelayMs: 10,
})

async function pay(title: string, amount: number, options: object = {}): Promise<void> {
	console.log(`${title}:`)
	const response = await client.post('/charges', { json: { amount }, ...options }).catch((error) => error)
	const { statusCode, body } = response
	if (statusCode) console.log(`  ${statusCode}: ${JSON.parse(body).title}`)
	else console.log(`  ${response.status}: ${await response.text()}`)
}

await pay('an order', 10)

fault = 'connection'
await pay('the connection breaks after the charge', 20)

fault = 'process'
await pay('the process stops after the charge', 30)

const key = { yaoki: { idempotencyKey: 'my-key' } }
await pay('a key', 40, key)
await pay('the same key again', 40, key)
await pay('the same key for another amount', 41, key)
await pay('the same key of another customer', 40, {
	...key,
	headers: { authorization: 'Bearer token-of-bob' },
})

console.log(`${charges.length} charges for 5 orders`)

server.closeAllConnections()
server.close()
await store.close()
rmSync(folder, { recursive: true })
