import { describe, expect, expectTypeOf, test } from 'vitest'
import { sqliteIdempotencyStore } from '../../../../src/idempotency/store/sqlite/sqlite-store.ts'
import { idempotencyStoreConformance } from '../../../../src/idempotency/testing/index.ts'
import {
	BETTER_DRIVERS,
	type BetterDatabase,
	type OpenBetter,
} from '../../../outbox/enqueue/better-sqlite.ts'
import { openSqlite } from '../open-sqlite.ts'

describe.each(BETTER_DRIVERS)('a store with %s', (_, open) => {
	for (const { name, run } of idempotencyStoreConformance(() => openSqlite(undefined, open))) test(name, run)

	test('a transaction gets the database that `open` returns', async () => {
		const store = sqliteIdempotencyStore({ file: ':memory:', open: (file) => open(file) })
		await store.transaction(async (tx) => {
			expectTypeOf(tx).toEqualTypeOf<BetterDatabase>()
			expect(tx.inTransaction).toBe(true)
		})
		await store.close()
	})
})

test('a function that opens something else is rejected', async () => {
	const store = sqliteIdempotencyStore({ file: ':memory:', open: (() => ({})) as unknown as OpenBetter })
	await expect(store.migrate()).rejects.toThrow(
		'"open": expected a function that returns a Database of better-sqlite3',
	)
})
