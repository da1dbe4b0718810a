/**
 * The store on PostgreSQL 13 and later, and on PGlite through the same SQL. Each call is one function of a file beside this one; here
 * they are only put together.
 */
import type { Queryable } from '../queryable.ts'
import { isSqlClient } from '../queryable.ts'
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
import { claim, destinations, nextDueInMs } from './claim.ts'
import { isPGlite } from './client.ts'
import { Database } from './connection.ts'
import { countDead, deadGroups, discard, dropHistory, replay, retryNow } from './dead-letters.ts'
import { gates, hold, turnGate } from './gates.ts'
import { insert } from './insert.ts'
import { channelOf, PgListener } from './listen.ts'
import { find, list } from './messages.ts'
import { type PostgresSettings, type PostgresStoreOptions, readPostgresOptions } from './options.ts'
import { leave, takePlaces } from './places.ts'
import { beat, relays } from './relays.ts'
import { findVersion, migrate, migrationsIn, NEEDED_VERSION } from './schema.ts'
import { renew, settle } from './settle.ts'
import { stats } from './stats.ts'
import { returnTokens, takeTokens } from './tokens.ts'

const unheard = (): void => {}

/** An outbox in a PostgreSQL. */
export class PostgresStore implements Store {
	readonly kind = 'postgres'
	readonly migrations: readonly Migration[]
	readonly #settings: PostgresSettings
	readonly #database: Database
	readonly #listening = new Set<() => Promise<void>>()

	constructor(options: PostgresStoreOptions) {
		this.#settings = readPostgresOptions(options)
		this.#database = new Database(this.#settings, NEEDED_VERSION, findVersion)
		this.migrations = migrationsIn(this.#settings.schema)
		// An idle connection of the pool that is lost is told by an event, and unheard it would end the process; the next query tells as well.
		const { client } = this.#settings
		if (!isPGlite(client)) client.on('error', unheard)
	}

	migrate(): Promise<MigrationReport> {
		return migrate(this.#database)
	}

	schemaVersion(): Promise<number> {
		return findVersion(this.#database)
	}

	insert(rows: readonly NewRow[], tx?: Queryable): Promise<Inserted> {
		return insert(this.#database, rows, tx !== undefined && isSqlClient(tx) ? tx : undefined)
	}

	claim(request: ClaimRequest): Promise<ClaimResult> {
		return claim(this.#database, request)
	}

	settle(owner: string, outcomes: readonly Outcome[], keepHistory: boolean): Promise<readonly string[]> {
		return settle(this.#database, owner, outcomes, keepHistory)
	}

	renew(owner: string, leaseMs: number, held: readonly Held[]): Promise<readonly string[]> {
		return renew(this.#database, owner, leaseMs, held)
	}

	nextDueInMs(names: readonly string[]): Promise<number | undefined> {
		return nextDueInMs(this.#database, names)
	}

	destinations(limit: number): Promise<readonly string[]> {
		return destinations(this.#database, limit)
	}

	dropHistory(olderThanMs: number, limit: number): Promise<number> {
		return dropHistory(this.#database, olderThanMs, limit)
	}

	gates(names: readonly string[]): Promise<readonly Gate[]> {
		return gates(this.#database, names)
	}

	turnGate(change: GateChange): Promise<{ readonly isDone: boolean; readonly gate: Gate }> {
		return turnGate(this.#database, change)
	}

	hold(destination: string, forMs: number, reason: GateReason): Promise<void> {
		return hold(this.#database, destination, forMs, reason)
	}

	takeTokens(destination: string, count: number, rate: Rate): Promise<Granted> {
		return takeTokens(this.#database, destination, count, rate)
	}

	returnTokens(destination: string, count: number, rate: Rate): Promise<void> {
		return returnTokens(this.#database, destination, count, rate)
	}

	takePlaces(request: PlacesRequest): Promise<number> {
		return takePlaces(this.#database, request)
	}

	beat(report: RelayReport, forgetAfterMs: number): Promise<void> {
		return beat(this.#database, report, forgetAfterMs)
	}

	leave(owner: string): Promise<void> {
		return leave(this.#database, owner)
	}

	relays(): Promise<readonly RelayRow[]> {
		return relays(this.#database)
	}

	find(id: string): Promise<StoredMessage | undefined> {
		return find(this.#database, id)
	}

	list(filter: Filter, limit: number, after?: string): Promise<readonly StoredMessage[]> {
		return list(this.#database, filter, limit, after)
	}

	deadGroups(filter: Filter, limit: number): Promise<readonly DeadGroup[]> {
		return deadGroups(this.#database, filter, limit)
	}

	countDead(filter: Filter, limit: number): Promise<Counted> {
		return countDead(this.#database, filter, limit)
	}

	replay(filter: Filter, limit: number, edit?: Edit): Promise<readonly string[]> {
		return replay(this.#database, filter, limit, edit)
	}

	discard(filter: Filter, limit: number, keepHistory: boolean): Promise<readonly string[]> {
		return discard(this.#database, filter, limit, keepHistory)
	}

	retryNow(filter: Filter, limit: number): Promise<readonly string[]> {
		return retryNow(this.#database, filter, limit)
	}

	stats(limit: number): Promise<StoreStats> {
		return stats(this.#database, limit)
	}

	async ring(): Promise<void> {
		await this.#database.run("select pg_notify($1::text, '')", [channelOf(this.#settings.schema)])
	}

	async listen(onRing: () => void, onError: (error: unknown) => void): Promise<() => Promise<void>> {
		const { client, schema, runtime } = this.#settings
		const channel = channelOf(schema)
		let stopListening: () => Promise<void>
		if (isPGlite(client)) stopListening = await client.listen(channel, () => onRing())
		else {
			const listener = new PgListener(client, channel, runtime, onRing, onError)
			await listener.start()
			stopListening = async () => listener.stop()
		}
		const stop = async () => {
			if (this.#listening.delete(stop)) await stopListening()
		}
		this.#listening.add(stop)
		return stop
	}

	takes(tx: Queryable): boolean {
		return isSqlClient(tx)
	}

	async close(): Promise<void> {
		for (const stop of [...this.#listening]) await stop()
		const { client } = this.#settings
		if (!isPGlite(client)) client.removeListener('error', unheard)
	}
}

/**
 * An outbox in a PostgreSQL, through a pool of `pg` or a database of PGlite.
 *
 * @example
 * const outbox = new Outbox({ store: postgresStore({ client: new pg.Pool({ connectionString }) }) })
 */
export function postgresStore(options: PostgresStoreOptions): PostgresStore {
	return new PostgresStore(options)
}
