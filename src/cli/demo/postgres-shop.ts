/** The shop in a PostgreSQL database of others: in its own schema, which is dropped at the end. */
import { randomBytes } from 'node:crypto'
import { Outbox } from '../../outbox/outbox.ts'
import { postgresOutboxStore } from '../../outbox/store/postgres/postgres-store.ts'
import type { PostgresTarget } from '../database/database-target.ts'
import { openPostgresPool } from '../database/open-database.ts'
import { HISTORY_MS, orderMessage, type Shop } from './shop.ts'

export async function postgresShop(target: PostgresTarget): Promise<Shop> {
	const schema = `yaoki_demo_${randomBytes(6).toString('hex')}`
	const pool = await openPostgresPool(target)
	const store = postgresOutboxStore({ client: pool, schema })
	const outbox = new Outbox({ store, historyForMs: HISTORY_MS })
	const remove = async () => {
		await outbox.close()
		try {
			await pool.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
		} finally {
			await pool.end()
		}
	}
	try {
		await outbox.migrate()
		await pool.query(`CREATE TABLE ${schema}.shop_orders (id text PRIMARY KEY, amount integer NOT NULL)`)
	} catch (error) {
		// If creating failed, dropping usually fails too; the first error is the one to report.
		await remove().catch(() => {})
		throw error
	}
	const insert = `INSERT INTO ${schema}.shop_orders (id, amount) VALUES ($1, $2)`
	return {
		name: `${target.name}, schema ${schema}`,
		database: { kind: 'postgres', url: target.url, schema },
		outbox,
		async write(order, end) {
			const client = await pool.connect()
			// A connection inside a transaction must not return to the pool.
			let isOpen = true
			try {
				await client.query('BEGIN')
				await client.query(insert, [order.orderId, order.amount])
				await outbox.enqueue(orderMessage(order), { tx: client })
				await client.query(end)
				isOpen = false
			} finally {
				client.release(isOpen)
			}
		},
		async orderIds() {
			const { rows } = await pool.query<{ id: string }>(`SELECT id FROM ${schema}.shop_orders`)
			return rows.map(({ id }) => id)
		},
		remove,
	}
}
