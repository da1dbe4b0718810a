/** The type of `tx` in a transaction, where the store is created inside of the engine's options. */
import { DatabaseSync } from 'node:sqlite'
import { expect, expectTypeOf, test } from 'vitest'
import {
	type IdempotencyEngine,
	idempotency,
	type SqliteTransaction,
	sqliteIdempotencyStore,
} from 'yaoki/idempotency'

const principal = () => 'anonymous'

test('tx is a connection of SQLite', () => {
	const engine = idempotency({ store: sqliteIdempotencyStore('app.db'), principal })
	expectTypeOf(engine).toEqualTypeOf<IdempotencyEngine<SqliteTransaction>>()
	expectTypeOf<DatabaseSync>().toExtend<SqliteTransaction>()
	expect(engine.settings.store).toBeDefined()
})

test('tx is DatabaseSync where the store says so', () => {
	const open = (file: string) => new DatabaseSync(file)
	const byOpen = idempotency({ store: sqliteIdempotencyStore({ file: 'app.db', open }), principal })
	const byType = idempotency({ store: sqliteIdempotencyStore<DatabaseSync>('app.db'), principal })
	expectTypeOf(byOpen).toEqualTypeOf<IdempotencyEngine<DatabaseSync>>()
	expectTypeOf(byType).toEqualTypeOf<IdempotencyEngine<DatabaseSync>>()
	expect([byOpen, byType]).toHaveLength(2)
})
