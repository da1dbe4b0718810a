/** The few moves that these tests are made of. */
import type { ClaimedRow, ClaimTarget, Settlement } from '../../../../src/outbox/store/rows.ts'
import {
	type SqliteStore,
	type SqliteStoreOptions,
	sqliteStore,
} from '../../../../src/outbox/store/sqlite/sqlite-store.ts'

export async function claimRows(
	store: SqliteStore,
	lane: Partial<ClaimTarget> = {},
	owner = 'r1',
	leaseMs = 60_000,
): Promise<readonly ClaimedRow[]> {
	const whole = { destination: 'a', limit: 1_000, since: 0, isOrdered: false, isProbe: false, ...lane }
	return (
		await store.claim({ owner, leaseMs, targets: [whole], poisonCandidates: false, poisonAfter: 1_000 })
	).rows
}

export const sent = ({ id, attempt }: ClaimedRow): Settlement => ({ type: 'sent', id, attempt })

export async function migratedStore(options: SqliteStoreOptions | string = ':memory:'): Promise<SqliteStore> {
	const store = sqliteStore(options)
	await store.migrate()
	return store
}
