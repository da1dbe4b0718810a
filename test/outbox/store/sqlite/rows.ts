/** The few moves that these tests are made of. */
import type { ClaimedRow, ClaimLane, NewRow, Outcome } from '../../../../src/outbox/store/rows.ts'
import {
	type SqliteStore,
	type SqliteStoreOptions,
	sqliteStore,
} from '../../../../src/outbox/store/sqlite/index.ts'

let made = 0

export const newRow = (part: Partial<NewRow> = {}): NewRow => ({
	id: `01890a5d-ac96-7000-8000-${(++made).toString(16).padStart(12, '0')}`,
	topic: 'order.created',
	destination: 'a',
	key: null,
	payload: '{"n":1}',
	headers: null,
	dedupeKey: null,
	notBefore: null,
	expiresAt: null,
	maxRetries: null,
	...part,
})

export const newRows = (count: number, part: Partial<NewRow> = {}): NewRow[] =>
	Array.from({ length: count }, () => newRow(part))

export async function claimRows(
	store: SqliteStore,
	lane: Partial<ClaimLane> = {},
	owner = 'r1',
	leaseMs = 60_000,
): Promise<readonly ClaimedRow[]> {
	const whole = { destination: 'a', limit: 1_000, since: 0, isOrdered: false, isProbe: false, ...lane }
	return (await store.claim({ owner, leaseMs, lanes: [whole], suspects: false, suspectAfter: 1_000 })).rows
}

export const sent = ({ id, attempt }: ClaimedRow): Outcome => ({ type: 'sent', id, attempt })

export async function migratedStore(options: SqliteStoreOptions | string = ':memory:'): Promise<SqliteStore> {
	const store = sqliteStore(options)
	await store.migrate()
	return store
}
