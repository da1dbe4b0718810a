/** The type of `tx` in a transaction, where the store is created inside of the engine's options. */
import { DatabaseSync } from 'node:sqlite'
import { PGlite, type Transaction } from '@electric-sql/pglite'
import pg from 'pg'
import { expect, expectTypeOf, test } from 'vitest'
import {
	type IdempotencyEngine,
	idempotency,
	postgresIdempotencyStore,
	type SqliteTransaction,
	sqliteIdempotencyStore,
} from 'yaoki/idempotency'

const name = 'shop'
const principal = () => 'anonymous'

test('tx is a connection of SQLite', () => {
	const engine = idempotency({ name, store: sqliteIdempotencyStore('app.db'), principal })
	expectTypeOf(engine).toEqualTypeOf<IdempotencyEngine<SqliteTransaction>>()
	expectTypeOf<DatabaseSync>().toExtend<SqliteTransaction>()
	expect(engine.settings.store).toBeDefined()
})

test('tx is DatabaseSync where the store says so', () => {
	const open = (file: string) => new DatabaseSync(file)
	const byOpen = idempotency({ name, store: sqliteIdempotencyStore({ file: 'app.db', open }), principal })
	const byType = idempotency({ name, store: sqliteIdempotencyStore<DatabaseSync>('app.db'), principal })
	expectTypeOf(byOpen).toEqualTypeOf<IdempotencyEngine<DatabaseSync>>()
	expectTypeOf(byType).toEqualTypeOf<IdempotencyEngine<DatabaseSync>>()
	expect([byOpen, byType]).toHaveLength(2)
})

test('tx is a PoolClient of pg, or a transaction of PGlite', () => {
	const ofPg = () =>
		idempotency({ name, store: postgresIdempotencyStore({ client: new pg.Pool() }), principal })
	const ofPGlite = () =>
		idempotency({ name, store: postgresIdempotencyStore({ client: new PGlite() }), principal })
	expectTypeOf(ofPg).returns.toEqualTypeOf<IdempotencyEngine<pg.PoolClient>>()
	expectTypeOf(ofPGlite).returns.toEqualTypeOf<IdempotencyEngine<Transaction>>()
	expect(ofPg().settings.store).toBeDefined()
})
