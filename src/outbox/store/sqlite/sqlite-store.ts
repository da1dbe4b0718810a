/**
 * The outbox in one file, the default for whoever has no server for it: durable, and shared by as many processes as one likes. This class
 * only says which call is a read and which a write; each concern is in a file of its own.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { Runtime } from '../../../core/runtime/runtime.ts'
import { systemRuntime } from '../../../core/runtime/system.ts'
import { StoreError } from '../errors.ts'
import { isSqliteClient, type Queryable } from '../queryable.ts'
import type {
	ClaimRequest,
	ClaimResult,
	Gate,
	GateChange,
	GateReason,
	Granted,
	Held,
	Inserted,
	NewRow,
	Outcome,
	PlacesRequest,
	Rate,
	RelayReport,
	RelayRow,
	StoredMessage,
} from '../rows.ts'
import type {
	Counted,
	DeadGroup,
	Edit,
	Filter,
	Migration,
	MigrationReport,
	Store,
	StoreStats,
} from '../store.ts'
import { Access } from './access.ts'
import { countDead, deadGroups, discard, dropHistory, replay, retryNow } from './archive.ts'
import { claim } from './claim.ts'
import { Connection } from './connection.ts'
import { gatesOf, hold, returnTokens, takeTokens, turnGate } from './gates.ts'
import { insertInto, insertRows } from './insert.ts'
import { find, list } from './messages.ts'
import { migrate, versionOf } from './migrate.ts'
import { MIGRATIONS } from './migrations.ts'
import { readSqliteOptions, type SqliteStoreOptions } from './options.ts'
import { takePlaces } from './places.ts'
import { beat, leave, relays } from './relays.ts'
import { renew } from './renew.ts'
import { settle } from './settle.ts'
import { storeError } from './sqlite-error.ts'
import { destinations, nextDueInMs, stats } from './stats.ts'
import { listen } from './wake.ts'

/** An outbox in an SQLite database, through `node:sqlite`. */
export class SqliteStore implements Store {
	readonly kind = 'sqlite'
	readonly migrations: readonly Migration[] = MIGRATIONS
	readonly #runtime: Runtime
	readonly #connection: Connection
	readonly #access: Access
	readonly #stops = new Set<() => void>()

	constructor(options: SqliteStoreOptions | string) {
		const { file, clock, runtime = systemRuntime } = readSqliteOptions(options)
		this.#runtime = runtime
		this.#connection = new Connection(file, clock)
		this.#access = new Access(this.#connection, runtime)
	}

	/** The store's own connection. With `':memory:'` it is the only one there is, and goes as `tx`. */
	get database(): DatabaseSync {
		try {
			return this.#connection.database
		} catch (error) {
			throw storeError(`opening ${this.#connection.file}`, error)
		}
	}

	takes(tx: Queryable): boolean {
		return isSqliteClient(tx)
	}

	async close(): Promise<void> {
		for (const stop of this.#stops) stop()
		await this.#access.idle()
		this.#connection.close()
	}

	migrate(): Promise<MigrationReport> {
		return this.#access.write('migrating', (db) => migrate(db))
	}

	schemaVersion(): Promise<number> {
		return this.#access.read('reading the schema version', versionOf)
	}

	/** With `tx` it is all done when the call returns, before anything is awaited. */
	insert(rows: readonly NewRow[], tx?: Queryable): Promise<Inserted> {
		if (tx !== undefined) return settled(() => this.#insertInto(tx, rows))
		return this.#access.write('enqueuing', (db) => ({
			duplicates: insertRows((sql, ...params) => db.rows(sql, ...params), rows, this.#testNow()),
			isInTransaction: false,
		}))
	}

	#insertInto(tx: Queryable, rows: readonly NewRow[]): Inserted {
		if (!isSqliteClient(tx)) throw new StoreError('enqueuing', 'tx is no connection of node:sqlite')
		try {
			return insertInto(tx, rows, this.#testNow())
		} catch (error) {
			throw this.#access.explained('enqueuing in your transaction', error, tx)
		}
	}

	#testNow(): number | null {
		return this.#connection.clock ? this.#connection.now() : null
	}

	claim(request: ClaimRequest): Promise<ClaimResult> {
		return this.#access.write('claiming', (db) => claim(db, request))
	}

	settle(owner: string, outcomes: readonly Outcome[], keepHistory: boolean): Promise<readonly string[]> {
		return this.#access.write('settling', (db, isCareful) =>
			settle(db, owner, outcomes, keepHistory, isCareful),
		)
	}

	renew(owner: string, leaseMs: number, held: readonly Held[]): Promise<readonly string[]> {
		return this.#access.write('renewing leases', (db) => renew(db, owner, leaseMs, held))
	}

	nextDueInMs(among: readonly string[]): Promise<number | undefined> {
		return this.#access.read('looking for the next due time', (db) => nextDueInMs(db, among))
	}

	destinations(limit: number): Promise<readonly string[]> {
		return this.#access.read('looking for destinations', (db) => destinations(db, limit))
	}

	dropHistory(olderThanMs: number, limit: number): Promise<number> {
		return this.#access.write('dropping history', (db) => dropHistory(db, olderThanMs, limit))
	}

	gates(among: readonly string[]): Promise<readonly Gate[]> {
		return this.#access.read('reading gates', (db) => gatesOf(db, among))
	}

	turnGate(change: GateChange): Promise<{ readonly isDone: boolean; readonly gate: Gate }> {
		return this.#access.write('turning a gate', (db) => turnGate(db, change))
	}

	hold(destination: string, forMs: number, reason: GateReason): Promise<void> {
		return this.#access.write('holding a destination', (db) => hold(db, destination, forMs, reason))
	}

	takeTokens(destination: string, count: number, rate: Rate): Promise<Granted> {
		return this.#access.write('taking tokens', (db) => takeTokens(db, destination, count, rate))
	}

	returnTokens(destination: string, count: number, rate: Rate): Promise<void> {
		return this.#access.write('returning tokens', (db) => returnTokens(db, destination, count, rate))
	}

	takePlaces(request: PlacesRequest): Promise<number> {
		return this.#access.write('taking places', (db) => takePlaces(db, request))
	}

	beat(report: RelayReport, forgetAfterMs: number): Promise<void> {
		return this.#access.write('reporting a relay', (db) => beat(db, report, forgetAfterMs))
	}

	leave(owner: string): Promise<void> {
		return this.#access.write('leaving', (db) => leave(db, owner))
	}

	relays(): Promise<readonly RelayRow[]> {
		return this.#access.read('listing relays', relays)
	}

	find(id: string): Promise<StoredMessage | undefined> {
		return this.#access.read('finding a message', (db) => find(db, id))
	}

	list(filter: Filter, limit: number, after?: string): Promise<readonly StoredMessage[]> {
		return this.#access.read('listing messages', (db) => list(db, filter, limit, after))
	}

	deadGroups(filter: Filter, limit: number): Promise<readonly DeadGroup[]> {
		return this.#access.read('grouping dead letters', (db) => deadGroups(db, filter, limit))
	}

	countDead(filter: Filter, limit: number): Promise<Counted> {
		return this.#access.read('counting dead letters', (db) => countDead(db, filter, limit))
	}

	replay(filter: Filter, limit: number, edit?: Edit): Promise<readonly string[]> {
		return this.#access.write('replaying', (db) => replay(db, filter, limit, edit))
	}

	discard(filter: Filter, limit: number, keepHistory: boolean): Promise<readonly string[]> {
		return this.#access.write('discarding', (db) => discard(db, filter, limit, keepHistory))
	}

	retryNow(filter: Filter, limit: number): Promise<readonly string[]> {
		return this.#access.write('retrying now', (db) => retryNow(db, filter, limit))
	}

	stats(limit: number): Promise<StoreStats> {
		return this.#access.read('counting', (db) => stats(db, limit))
	}

	/** Nothing to do: every commit can be heard. */
	async ring(): Promise<void> {}

	listen(onRing: () => void, onError: (error: unknown) => void): Promise<() => Promise<void>> {
		const explain = (error: unknown): void => onError(this.#access.explained('listening', error))
		const stop = listen(this.#connection, this.#runtime, onRing, explain)
		this.#stops.add(stop)
		return Promise.resolve(async () => {
			stop()
			this.#stops.delete(stop)
		})
	}
}

/** Done at once; what it throws is a rejection. */
function settled<T>(work: () => T): Promise<T> {
	try {
		return Promise.resolve(work())
	} catch (error) {
		return Promise.reject(error)
	}
}

/**
 * An outbox in an SQLite file: one folder entry, no server.
 *
 * @example
 * const outbox = new Outbox({ store: sqliteStore('outbox.db') })
 * await outbox.migrate()
 */
export function sqliteStore(options: SqliteStoreOptions | string): SqliteStore {
	return new SqliteStore(options)
}
