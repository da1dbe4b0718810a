/** A store that keeps rows in an array, for tests of the outbox. Operations that those tests do not need reject. */

import type { InsertResult, NewRow, StoredMessage } from '../../src/outbox/store/rows.ts'
import type { InsertOptions, OutboxStore, StoreFilter } from '../../src/outbox/store/store.ts'
import { isSqlClient, type Queryable } from '../../src/sql/clients.ts'

export interface FakeStore extends OutboxStore {
	readonly rows: readonly NewRow[]
	/** The `tx` of each insert. */
	readonly inserts: readonly (Queryable | undefined)[]
	/** The options of each insert. */
	readonly insertOptions: readonly (InsertOptions | undefined)[]
	notifications: number
	closes: number
	/** What `insert` reports about the transaction. */
	isInTransaction: boolean | undefined
	/** The error of the next notifications. */
	notifyError: unknown
	/** The ids that the next calls of `retryNow` return. */
	retryBatches: (readonly string[])[]
	retryFilters: StoreFilter[]
}

const unsupported = (): Promise<never> => Promise.reject(new Error('not supported by the fake store'))

export function fakeStore(settings: { readonly kind?: string } = {}): FakeStore {
	const rows: NewRow[] = []
	const inserts: (Queryable | undefined)[] = []
	const insertOptions: (InsertOptions | undefined)[] = []
	const store: FakeStore = {
		rows,
		inserts,
		insertOptions,
		notifications: 0,
		closes: 0,
		isInTransaction: true,
		notifyError: undefined,
		retryBatches: [],
		retryFilters: [],
		kind: settings.kind ?? 'postgres',
		accepts: isSqlClient,
		insert(news, tx, options) {
			const duplicates = new Map<string, string>()
			if (options?.requiresTransaction && store.isInTransaction === false)
				return Promise.resolve<InsertResult>({ duplicates, isInTransaction: false })
			inserts.push(tx)
			insertOptions.push(options)
			for (const row of news) {
				const earlier = row.dedupeKey !== null && rows.find(({ dedupeKey }) => dedupeKey === row.dedupeKey)
				if (earlier) duplicates.set(row.id, earlier.id)
				else rows.push(row)
			}
			return Promise.resolve<InsertResult>({ duplicates, isInTransaction: store.isInTransaction })
		},
		find: (id) => Promise.resolve(rows.filter((row) => row.id === id).map(stored)[0]),
		list: (filter, limit, after) => {
			const chosen = rows.filter(({ topic }) => filter.topic === undefined || topic === filter.topic)
			const from = chosen.findIndex(({ id }) => id === after) + 1
			return Promise.resolve(chosen.slice(from, from + limit).map(stored))
		},
		expire: async () => [],
		retryNow: (filter) => {
			store.retryFilters.push(filter)
			return Promise.resolve(store.retryBatches.shift() ?? [])
		},
		notify() {
			store.notifications++
			return store.notifyError === undefined ? Promise.resolve() : Promise.reject(store.notifyError)
		},
		close() {
			store.closes++
			return Promise.resolve()
		},
		migrations: [],
		migrate: () => Promise.resolve({ from: 0, to: 1, applied: ['first'] }),
		schemaVersion: () => Promise.resolve(1),
		claim: unsupported,
		settle: unsupported,
		renew: unsupported,
		claimsOf: unsupported,
		hasClaimable: unsupported,
		nextDueInMs: unsupported,
		dueDestinations: unsupported,
		dropHistory: unsupported,
		dropDedupeKeys: unsupported,
		audit: unsupported,
		dropAudit: unsupported,
		circuits: () => Promise.resolve([]),
		changeCircuit: unsupported,
		pause: unsupported,
		changeByOperator: unsupported,
		operatorPauses: () => Promise.resolve([]),
		acquireTokens: unsupported,
		returnTokens: unsupported,
		acquirePermits: unsupported,
		heartbeat: unsupported,
		removeRelay: unsupported,
		relays: () => Promise.resolve([]),
		deadGroups: unsupported,
		countDead: unsupported,
		replay: (filter) => Promise.resolve(filter.ids ?? []),
		discard: unsupported,
		resend: unsupported,
		logAttempts: unsupported,
		attempts: () => Promise.resolve([]),
		dropAttempts: unsupported,
		findPredecessor: unsupported,
		stats: () =>
			Promise.resolve({
				now: 0,
				destinations: [],
				hasMoreDestinations: false,
				attempts: [],
				forecast: [],
				clockBehindMs: 0,
			}),
		now: () => Promise.resolve(0),
		listen: unsupported,
	}
	return store
}

const stored = (row: NewRow): StoredMessage => ({
	id: row.id,
	topic: row.topic,
	destination: row.destination,
	key: row.key,
	payload: row.payload,
	headers: row.headers,
	dedupeKey: row.dedupeKey,
	status: 'pending',
	attempts: 0,
	maxRetries: row.maxRetries,
	dueAt: row.notBefore ?? 0,
	lastAttemptAt: null,
	error: null,
	lockedAt: null,
	lockedBy: null,
	leaseUntil: null,
	createdAt: 0,
	expiresAt: row.expiresAt,
	crashes: 0,
	endedAt: null,
	cause: null,
	blocks: false,
})
