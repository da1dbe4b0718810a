/** Steps that the tests of this store share. */
import type { ClaimedRow, ClaimTarget, Settlement } from '../../../../src/outbox/store/rows.ts'
import {
	type SqliteOutboxStore,
	type SqliteOutboxStoreOptions,
	sqliteOutboxStore,
} from '../../../../src/outbox/store/sqlite/sqlite-store.ts'

export async function claimRows(
	store: SqliteOutboxStore,
	target: Partial<ClaimTarget> = {},
	owner = 'r1',
	leaseMs = 60_000,
): Promise<readonly ClaimedRow[]> {
	const whole = { destination: 'a', limit: 1_000, since: 0, isOrdered: false, isProbe: false, ...target }
	return (
		await store.claim({ owner, leaseMs, targets: [whole], poisonCandidates: false, poisonAfter: 1_000 })
	).rows
}

export const sent = ({ id, attempt }: ClaimedRow): Settlement => ({ type: 'sent', id, attempt })

export async function migratedStore(
	options: SqliteOutboxStoreOptions | string = ':memory:',
): Promise<SqliteOutboxStore> {
	const store = sqliteOutboxStore(options)
	await store.migrate()
	return store
}
