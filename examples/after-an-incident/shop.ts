/** The database of the shop, with the outbox in it. `npx yaoki outbox` reads this file by default. */
import { DatabaseSync } from 'node:sqlite'
import { Outbox, sqliteOutboxStore } from 'yaoki/outbox'

const FILE = 'outbox.db'

export const shop: DatabaseSync = new DatabaseSync(FILE, { timeout: 5_000 })
export const outbox: Outbox = new Outbox({ store: sqliteOutboxStore(FILE) })
