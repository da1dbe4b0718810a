/**
 * A server of orders in its own process: this package's idempotency with its defaults. It starts to listen when its parent asks, so that one which is
 * loaded can replace a killed one. An order is charged in a step, at a service that knows the key of the step, and inserted in the transaction that
 * stores the response.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { idempotency, nodeIdempotency, postgresIdempotencyStore } from '../../../src/idempotency/index.ts'
import { seeNoEndedProcess } from '../processes/other-machine.ts'

/** Body of a request. */
export interface Order {
	readonly id: string
	/** How long the handler takes before the step, and after it. */
	readonly beforeMs: number
	readonly afterMs: number
}

const [database = '', bank = '', port = '', areApart = ''] = process.argv.slice(2)
if (areApart) seeNoEndedProcess()
const pool = new pg.Pool({ connectionString: database })
const store = postgresIdempotencyStore({ client: pool })
await store.migrate()
const engine = idempotency({ name: 'orders', store, principal: () => 'shop' })

async function charge(id: string, idempotencyKey: string): Promise<string> {
	const response = await fetch(bank, {
		method: 'POST',
		headers: { 'idempotency-key': idempotencyKey },
		body: id,
	})
	return response.text()
}

const server = createServer(
	nodeIdempotency(engine, async (request: IncomingMessage, _response: ServerResponse, context) => {
		const chunks: Buffer[] = []
		for await (const chunk of request) chunks.push(chunk)
		const { id, beforeMs, afterMs } = JSON.parse(Buffer.concat(chunks).toString()) as Order
		process.send?.('started')
		await pause(beforeMs)
		const receipt = await context.step('charge', ({ idempotencyKey }) => charge(id, idempotencyKey))
		process.send?.('charged')
		await pause(afterMs)
		await context.transaction(async (tx) => {
			await tx.query('insert into orders values ($1)', [id])
			return Response.json({ id, receipt }, { status: 201 })
		})
	}),
)
process.once('message', () => server.listen(Number(port), '127.0.0.1', () => process.send?.('listening')))
process.once('disconnect', () => process.exit())
process.send?.('loaded')
