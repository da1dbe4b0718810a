/** A store in SQLite with a clock that can be moved, and a table of the user in the same database. */
import { DatabaseSync } from 'node:sqlite'
import {
	type SqliteIdempotencyStore,
	sqliteIdempotencyStore,
} from '../../../src/idempotency/store/sqlite/sqlite-store.ts'
import type { IdempotencyStoreUnderTest } from '../../../src/idempotency/testing/index.ts'
import { temporaryFile } from '../../support/temporary-file.ts'

/** What all drivers have. */
interface Database {
	exec(sql: string): unknown
	prepare(sql: string): { run(): unknown; all(): unknown[] }
}

export interface OpenedSqlite<Tx> extends IdempotencyStoreUnderTest<Tx> {
	readonly store: SqliteIdempotencyStore<Tx>
	readonly file: string
	advance(ms: number): void
	readonly userTable: NonNullable<IdempotencyStoreUnderTest<Tx>['userTable']>
}

/** The store's clock is that of the machine, also while a test gives a server another one. */
const machineTime = Date.now

const count = (tx: Database): number =>
	Object.values(Object(tx.prepare('SELECT count(*) FROM orders').all()[0]))[0] as number

export async function openSqlite<Tx extends Database = DatabaseSync>(
	file: string = temporaryFile(),
	open?: (file: string) => Tx,
): Promise<OpenedSqlite<Tx>> {
	let offsetMs = 0
	const clock = () => machineTime() + offsetMs
	const create = () => sqliteIdempotencyStore<Tx>({ file, clock, open })
	const store = create()
	await store.migrate()
	await store.transaction(async (tx) => tx.exec('CREATE TABLE orders (item TEXT NOT NULL)'))
	return {
		store,
		file,
		advance(ms) {
			offsetMs += ms
		},
		userTable: {
			insert: async (tx) => tx.prepare("INSERT INTO orders VALUES ('a')").run(),
			async count() {
				if (file === ':memory:') return store.transaction(async (tx) => count(tx))
				const database = open ? open(file) : new DatabaseSync(file)
				try {
					return count(database)
				} finally {
					;(database as DatabaseSync).close()
				}
			},
		},
		...(file === ':memory:' ? {} : { another: async () => create() }),
		close: () => store.close(),
	}
}
