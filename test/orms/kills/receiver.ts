/** The ledger: a Fastify server whose inbox lets each message have its effect once. It is killed at random moments. */
import { setTimeout as pause } from 'node:timers/promises'
import { drizzle } from 'drizzle-orm/node-postgres'
import { integer, pgTable, text } from 'drizzle-orm/pg-core'
import Fastify from 'fastify'
import pg from 'pg'
import { drizzleTx, Inbox, postgresInboxStore } from 'yaoki/outbox'
import { readInput, reportRunning } from './process.ts'

const { url, port } = readInput()
/** Without a constraint, which would hide a second effect. */
const effects = pgTable('effects', { orderId: integer('order_id').notNull() })
const deliveries = pgTable('deliveries', { messageId: text('message_id').notNull() })
const pool = new pg.Pool({ connectionString: url })
const db = drizzle(pool)
const inbox = new Inbox({ store: postgresInboxStore({ client: pool }) })

const app = Fastify()
app.post('/orders', async (request, reply) => {
	const messageId = String(request.headers['idempotency-key'])
	const { orderId } = request.body as { readonly orderId: number }
	await db.insert(deliveries).values({ messageId })
	await db.transaction((tx) =>
		inbox.once(messageId, { tx: drizzleTx(tx) }, () => tx.insert(effects).values({ orderId })),
	)
	// A kill during this pause makes the relay send the message again.
	await pause(20)
	return reply.code(204).send()
})
await app.listen({ port, host: '127.0.0.1' })
reportRunning()
