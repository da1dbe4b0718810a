/** Places orders with Drizzle. */
import { drizzle } from 'drizzle-orm/node-postgres'
import { integer, pgTable } from 'drizzle-orm/pg-core'
import { drizzleTx } from 'yaoki/outbox'
import { messageOf, outbox, pool, serveOrders } from './sender.ts'

const orders = pgTable('orders', { id: integer().primaryKey(), total: integer().notNull() })
const db = drizzle(pool)

serveOrders((id) =>
	db.transaction(async (tx) => {
		const inserted = await tx.insert(orders).values({ id, total: 1_200 }).onConflictDoNothing().returning()
		if (inserted.length === 0) return false
		await outbox.enqueue(messageOf(id), { tx: drizzleTx(tx) })
		return true
	}),
)
