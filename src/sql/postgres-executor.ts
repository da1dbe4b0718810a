/**
 * Runs statements on PostgreSQL. Statements contain `{s}` for the schema and `{now}` for the database's time,
 * and are completed once. A `pg` pool prepares them under a name derived from their text, so that two stores
 * on one pool (another schema, another version) never use each other's. A single statement is one round trip;
 * stores are built from those.
 */
import { BoundedExecutor } from './bounded-executor.ts'
import {
	isPGlite,
	type PGliteLike,
	type PGliteTransaction,
	type PgClient,
	type PgPool,
	type SqlClient,
} from './clients.ts'
import { againIfLost, inPgTransaction } from './pg-transaction.ts'
import { isWithoutConnection, onFreeConnection, type PoolWait } from './pool.ts'
import { isLostStatement } from './postgres-errors.ts'
import type { SentValue, Value } from './postgres-values.ts'
import { serverStatus } from './transaction-state.ts'

/** The database or a transaction in it. */
export interface SqlExecutor {
	/** Runs a constant text, prepared. */
	run<Row>(sql: string, values?: readonly Value[]): Promise<readonly Row[]>
	/** Runs a text that was assembled for this call. Not prepared, because it may never be used again. */
	runOnce<Row>(sql: string, values?: readonly Value[]): Promise<readonly Row[]>
	/** Runs several statements without parameters. */
	script(sql: string): Promise<void>
}

export interface PostgresSettings {
	readonly client: PgPool | PGliteLike
	readonly schema: string
	readonly prepare: boolean
	/** Receives warnings. */
	readonly warn: (text: string) => void
	/** Added to the database's clock, for tests. */
	readonly offsetMs: () => number
}

/** Returns the error to throw. `executor` runs further statements without calling this function again. */
export type ExplainError = (error: unknown, executor: SqlExecutor) => Promise<unknown>

/**
 * Rounded down, so that a message is never due too early. Floating point holds milliseconds exactly for
 * thousands of years; the decimals of `extract` cost a tenth of an insert.
 */
export const DATABASE_NOW = "floor(date_part('epoch', clock_timestamp()) * 1000)::bigint"

/** Texts assembled per call are unlimited in number; the cache of completed texts is not. */
const MAX_CACHED_TEXTS = 500

const POOLER =
	'yaoki: a connection pooler loses prepared statements, so statements are no longer prepared. Create the store with { prepare: false }, or add --no-prepare on the command line, to avoid the first failure. This warning is printed once.'

type QueryTarget = Pick<PgClient, 'query'> | PGliteTransaction

export class PostgresExecutor implements SqlExecutor {
	/** Runs the statements that relays repeat. */
	readonly bounded: BoundedExecutor
	readonly #settings: PostgresSettings
	readonly #explain: ExplainError
	readonly #texts = new Map<string, { readonly name: string; readonly text: string }>()
	#offsetMs: number
	/** Becomes false behind a pooler that loses prepared statements. */
	#canPrepare: boolean
	/** Whether the default isolation level of the database or its user is read committed. Looked up once. */
	#isReadCommitted: boolean | undefined

	constructor(settings: PostgresSettings, explain: ExplainError) {
		this.#settings = settings
		this.#explain = explain
		this.#offsetMs = settings.offsetMs()
		this.#canPrepare = settings.prepare && !isPGlite(settings.client)
		this.bounded = new BoundedExecutor({
			...settings,
			complete: (sql) => this.#complete(sql),
			guard: (work) => this.#guard(work),
		})
	}

	run<Row>(sql: string, values: readonly Value[] = []): Promise<readonly Row[]> {
		return this.#guard(() => this.#sendAlone<Row>(sql, values, true))
	}

	runOnce<Row>(sql: string, values: readonly Value[] = []): Promise<readonly Row[]> {
		return this.#guard(() => this.#sendAlone<Row>(sql, values, false))
	}

	/**
	 * Like `run`, at the default isolation level of the database. The caller repeats a statement that fails to
	 * serialize (40001). With `wait`, the caller learns whether the statement waits for a connection, and can
	 * prevent that it runs afterwards.
	 */
	runAtAnyLevel<Row>(sql: string, values: readonly SentValue[], wait?: PoolWait): Promise<readonly Row[]> {
		const { client } = this.#settings
		return this.#guard(() =>
			wait && isWithoutConnection(client)
				? onFreeConnection(client, wait, (connection) =>
						againIfLost(() => this.#send<Row>(connection, sql, values, true)),
					)
				: this.#send<Row>(client, sql, values, true),
		)
	}

	/**
	 * With another default isolation level, statements that meet others fail (40001) and can make the user's
	 * fail too. Then each statement runs in a transaction that sets its level, for two more round trips.
	 */
	async #sendAlone<Row>(sql: string, values: readonly Value[], isConstant: boolean): Promise<readonly Row[]> {
		this.#isReadCommitted ??= await this.#readIsolationLevel()
		if (this.#isReadCommitted) return this.#send<Row>(this.#settings.client, sql, values, isConstant)
		return this.#transact((executor) =>
			isConstant ? executor.run<Row>(sql, values) : executor.runOnce<Row>(sql, values),
		)
	}

	async #readIsolationLevel(): Promise<boolean> {
		const { rows } = await this.#settings.client.query(
			"select current_setting('default_transaction_isolation') as level",
		)
		return (rows[0] as { readonly level?: unknown } | undefined)?.level === 'read committed'
	}

	script(sql: string): Promise<void> {
		return this.transaction((executor) => executor.script(sql))
	}

	/** True if a test shifts the clock. Column defaults use the unshifted clock of the database. */
	get hasShiftedClock(): boolean {
		return this.#settings.offsetMs() !== 0
	}

	/**
	 * Runs a statement on the user's connection, and returns what the client returns. Any client accepts a text
	 * with values; a `pg` client also prepares it, which halves the cost of an insert.
	 */
	async runIn(tx: SqlClient, sql: string, values: readonly SentValue[]): Promise<unknown> {
		if (serverStatus(tx) !== undefined) return this.#query(tx as Pick<PgClient, 'query'>, sql, values, true)
		return tx.query(this.#complete(sql).text, [...values])
	}

	/** Runs a rare statement on the user's connection, not prepared: its plan fits the size that the table has now. */
	runOnceIn(tx: SqlClient, sql: string, values: readonly SentValue[]): Promise<unknown> {
		return tx.query(this.#complete(sql).text, [...values])
	}

	/** Runs `work` in one transaction, read committed: each statement sees what was committed before it. */
	transaction<T>(work: (executor: SqlExecutor) => Promise<T>): Promise<T> {
		return this.#guard(() => this.#transact(work))
	}

	#transact<T>(work: (executor: SqlExecutor) => Promise<T>): Promise<T> {
		const { client } = this.#settings
		if (!isPGlite(client))
			return againIfLost(() =>
				inPgTransaction(client.connect(), 'begin isolation level read committed', (connection) =>
					work(this.#executorOn(connection, (sql) => connection.query(sql))),
				),
			)
		return client.transaction(async (tx) => {
			await tx.exec('set transaction isolation level read committed')
			return work(this.#executorOn(tx, (sql) => tx.exec(sql)))
		})
	}

	#executorOn(client: QueryTarget, script: (sql: string) => Promise<unknown>): SqlExecutor {
		return {
			run: (sql, values = []) => this.#send(client, sql, values, true),
			runOnce: (sql, values = []) => this.#send(client, sql, values, false),
			script: async (sql) => {
				await script(this.#complete(sql).text)
			},
		}
	}

	async #send<Row>(
		client: QueryTarget,
		sql: string,
		values: readonly SentValue[],
		isConstant: boolean,
	): Promise<readonly Row[]> {
		const { rows } = await this.#query(client, sql, values, isConstant)
		return rows as readonly Row[]
	}

	async #query(
		client: QueryTarget,
		sql: string,
		values: readonly SentValue[],
		isConstant: boolean,
	): Promise<{ readonly rows: readonly unknown[] }> {
		const { name, text } = this.#complete(sql)
		if (isConstant && this.#canPrepare) {
			try {
				return await (client as Pick<PgClient, 'query'>).query({ name, text, values: [...values] })
			} catch (error) {
				if (!isLostStatement(error)) throw error
				this.#stopPreparing()
				// It failed before it ran, so it can be repeated. In a transaction the error has aborted everything;
				// the next one works.
				if (client !== this.#settings.client) throw error
			}
		}
		return client.query(text, [...values])
	}

	#stopPreparing(): void {
		if (this.#canPrepare) this.#settings.warn(POOLER)
		this.#canPrepare = false
	}

	#complete(sql: string): { readonly name: string; readonly text: string } {
		const offsetMs = this.#settings.offsetMs()
		if (offsetMs !== this.#offsetMs || this.#texts.size > MAX_CACHED_TEXTS) this.#texts.clear()
		this.#offsetMs = offsetMs
		let completed = this.#texts.get(sql)
		if (completed === undefined) {
			const text = inSchema(sql, this.#settings.schema).replaceAll('{now}', nowSql(offsetMs))
			completed = { name: `yaoki_${hashText(text, 1)}${hashText(text, 2)}`, text }
			this.#texts.set(sql, completed)
		}
		return completed
	}

	async #guard<T>(work: () => Promise<T>): Promise<T> {
		try {
			return await work()
		} catch (error) {
			throw await this.#explain(
				error,
				this.#executorOn(this.#settings.client, async () => {}),
			)
		}
	}
}

export const inSchema = (sql: string, schema: string): string => sql.replaceAll('{s}', `"${schema}"`)

const nowSql = (offsetMs: number): string =>
	offsetMs === 0 ? DATABASE_NOW : `(${DATABASE_NOW} + (${offsetMs})::bigint)`

/** Returns a 64-bit hash in hexadecimal. Not `node:crypto`, because this folder must run without Node. */
function hashText(text: string, seed: number): string {
	let a = 0xdeadbeef ^ seed
	let b = 0x41c6ce57 ^ seed
	for (let at = 0; at < text.length; at++) {
		const code = text.charCodeAt(at)
		a = Math.imul(a ^ code, 2654435761)
		b = Math.imul(b ^ code, 1597334677)
	}
	a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909)
	b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909)
	return [a, b].map((half) => (half >>> 0).toString(16).padStart(8, '0')).join('')
}
