/** The shop as a SQLite file in a temporary folder. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Outbox } from '../../outbox/outbox.ts'
import { sqliteOutboxStore } from '../../outbox/store/sqlite/sqlite-store.ts'
import { HISTORY_MS, orderMessage, type Shop } from './shop.ts'

export async function sqliteShop(): Promise<Shop> {
	const folder = await mkdtemp(join(tmpdir(), 'yaoki-demo-'))
	const file = join(folder, 'shop.db')
	const outbox = new Outbox({ store: sqliteOutboxStore({ file }), historyForMs: HISTORY_MS })
	const remove = async () => {
		await outbox.close()
		await rm(folder, { recursive: true, force: true })
	}
	try {
		await outbox.migrate()
		const database = new DatabaseSync(file)
		// The relays write to the same file; each commit blocks others for a few milliseconds.
		database.exec('PRAGMA busy_timeout = 5000')
		database.exec('CREATE TABLE shop_orders (id TEXT PRIMARY KEY, amount INTEGER NOT NULL) STRICT')
		const insert = database.prepare('INSERT INTO shop_orders (id, amount) VALUES (?, ?)')
		const select = database.prepare('SELECT id FROM shop_orders')
		return {
			name: `SQLite in ${file}`,
			database: { kind: 'sqlite', file },
			outbox,
			async write(order, end) {
				database.exec('BEGIN IMMEDIATE')
				try {
					insert.run(order.orderId, order.amount)
					await outbox.enqueue(orderMessage(order), { tx: database })
				} catch (error) {
					database.exec('ROLLBACK')
					throw error
				}
				database.exec(end)
			},
			orderIds: async () => select.all().map((row) => String(row['id'])),
			async remove() {
				database.close()
				await remove()
			},
		}
	} catch (error) {
		await remove()
		throw error
	}
}
