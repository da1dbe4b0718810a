/**
 * How a statement reaches the database. Statements are written once, with `{s}` for the schema and `{now}` for the time there, and
 * filled in once; a pool of `pg` prepares them under a name made of their text, so that two stores on one pool (another schema,
 * another version) can not take each other's. A statement alone is one round trip, which is why the store is made of those.
 */
import { createHash } from 'node:crypto'
import { serverStatus } from '../../notify/transaction-state.ts'
import { SchemaVersionError } from '../errors.ts'
import type { SqlClient } from '../queryable.ts'
import { isPGlite, type PGliteTransaction, type PgClient } from './client.ts'
import { explained, isMissingObject } from './faults.ts'
import type { PostgresSettings } from './options.ts'
import { NOW_SQL } from './tables.ts'

export type Value = string | number | boolean | null

/** Something that runs statements: the database, or a transaction in it. */
export interface Session {
	/** A statement whose text is always the same. */
	run<Row>(sql: string, values?: readonly Value[]): Promise<readonly Row[]>
	/** A statement that was put together for this one time: it is not prepared, for it may never come again. */
	ask<Row>(sql: string, values?: readonly Value[]): Promise<readonly Row[]>
	/** Several statements without parameters. */
	script(sql: string): Promise<void>
}

/** Statements put together from a caller's wishes are many; those that are kept filled in are not to grow without end. */
const MOST_KEPT = 500

/** Whatever takes a statement. */
type Sender = Pick<PgClient, 'query'> | PGliteTransaction

const unheard = (): void => {}

/** Looks up which version the tables are of. */
type FindVersion = (session: Session) => Promise<number>

export class Database implements Session {
	readonly #settings: PostgresSettings
	readonly #needed: number
	readonly #findVersion: FindVersion
	readonly #filled = new Map<string, { readonly name: string; readonly text: string }>()
	#offsetMs: number
	/** Is that the default of the database, or of its user? Looked up once. */
	#isReadCommitted: boolean | undefined

	constructor(settings: PostgresSettings, needed: number, findVersion: FindVersion) {
		this.#settings = settings
		this.#needed = needed
		this.#findVersion = findVersion
		this.#offsetMs = settings.offsetMs()
	}

	run<Row>(sql: string, values: readonly Value[] = []): Promise<readonly Row[]> {
		return this.#guarded(() => this.#sendAlone<Row>(sql, values, true))
	}

	ask<Row>(sql: string, values: readonly Value[] = []): Promise<readonly Row[]> {
		return this.#guarded(() => this.#sendAlone<Row>(sql, values, false))
	}

	/**
	 * Whoever made another isolation level the default has statements fail that meet others (40001), and ours could make the user's fail as well. Then
	 * each has a transaction that says its level, for two round trips more.
	 */
	async #sendAlone<Row>(sql: string, values: readonly Value[], isConstant: boolean): Promise<readonly Row[]> {
		this.#isReadCommitted ??= await this.#looksReadCommitted()
		if (this.#isReadCommitted) return this.#send<Row>(this.#settings.client, sql, values, isConstant)
		return this.#transact((session) =>
			isConstant ? session.run<Row>(sql, values) : session.ask<Row>(sql, values),
		)
	}

	async #looksReadCommitted(): Promise<boolean> {
		const { rows } = await this.#settings.client.query(
			"select current_setting('default_transaction_isolation') as level",
		)
		return (rows[0] as { readonly level?: unknown } | undefined)?.level === 'read committed'
	}

	script(sql: string): Promise<void> {
		return this.transaction((session) => session.script(sql))
	}

	/** Does the store go by a time of its own, as tests do? Then the defaults of columns, which go by the database's, are no use. */
	get hasOwnTime(): boolean {
		return this.#settings.offsetMs() !== 0
	}

	/**
	 * On a connection of the user's, which gets nothing but a text and values: whatever it is, it can do that. Only what is known to be a
	 * client of `pg` is asked to prepare, which makes an insert half as dear.
	 */
	async within<Row>(tx: SqlClient, sql: string, values: readonly Value[]): Promise<readonly Row[]> {
		if (this.#settings.prepare && serverStatus(tx) !== undefined)
			return this.#send(tx as Pick<PgClient, 'query'>, sql, values, true)
		const { rows } = await tx.query(this.#fill(sql).text, [...values])
		return rows as readonly Row[]
	}

	/** All of it or nothing. The store's statements rely on seeing what was committed before each of them. */
	transaction<T>(work: (session: Session) => Promise<T>): Promise<T> {
		return this.#guarded(() => this.#transact(work))
	}

	#transact<T>(work: (session: Session) => Promise<T>): Promise<T> {
		const { client } = this.#settings
		if (!isPGlite(client)) return this.#pgTransaction(client.connect(), work)
		return client.transaction(async (tx) => {
			await tx.exec('set transaction isolation level read committed')
			return work(this.#session(tx, (sql) => tx.exec(sql)))
		})
	}

	async #pgTransaction<T>(connecting: Promise<PgClient>, work: (session: Session) => Promise<T>): Promise<T> {
		const client = await connecting
		let isBroken = false
		// A connection that is lost between two statements says so by an event, and one that nobody hears ends the process.
		const onError = () => {
			isBroken = true
		}
		client.on('error', onError)
		try {
			await client.query('begin isolation level read committed')
			const result = await work(this.#session(client, (sql) => client.query(sql)))
			await client.query('commit')
			return result
		} catch (error) {
			await client.query('rollback').catch(() => {
				isBroken = true
			})
			throw error
		} finally {
			client.release(isBroken)
			client.removeListener('error', onError)
		}
	}

	#session(client: Sender, script: (sql: string) => Promise<unknown>): Session {
		return {
			run: (sql, values = []) => this.#send(client, sql, values, true),
			ask: (sql, values = []) => this.#send(client, sql, values, false),
			script: async (sql) => {
				await script(this.#fill(sql).text)
			},
		}
	}

	async #send<Row>(
		client: Sender,
		sql: string,
		values: readonly Value[],
		isConstant: boolean,
	): Promise<readonly Row[]> {
		const { name, text } = this.#fill(sql)
		const isNamed = isConstant && this.#settings.prepare && !isPGlite(this.#settings.client)
		const { rows } = isNamed
			? await (client as Pick<PgClient, 'query'>).query({ name, text, values: [...values] })
			: await client.query(text, [...values])
		return rows as readonly Row[]
	}

	#fill(sql: string): { readonly name: string; readonly text: string } {
		const offsetMs = this.#settings.offsetMs()
		if (offsetMs !== this.#offsetMs || this.#filled.size > MOST_KEPT) this.#filled.clear()
		this.#offsetMs = offsetMs
		let filled = this.#filled.get(sql)
		if (filled === undefined) {
			const text = inSchema(sql, this.#settings.schema).replaceAll('{now}', nowSql(offsetMs))
			filled = { name: `yaoki_${createHash('sha1').update(text).digest('hex').slice(0, 24)}`, text }
			this.#filled.set(sql, filled)
		}
		return filled
	}

	async #guarded<T>(work: () => Promise<T>): Promise<T> {
		try {
			return await work()
		} catch (error) {
			if (isMissingObject(error)) {
				const found = await this.#findVersion(this.#bare()).catch(unheard)
				if (found !== undefined && found !== this.#needed) throw new SchemaVersionError(found, this.#needed)
			}
			throw explained(error)
		}
	}

	/** Without looking up the version when it fails, which is what it is for. */
	#bare(): Session {
		return this.#session(this.#settings.client, unheardScript)
	}
}

const unheardScript = async (): Promise<void> => {}

/** SQL with the schema's name in it. */
export const inSchema = (sql: string, schema: string): string => sql.replaceAll('{s}', `"${schema}"`)

const nowSql = (offsetMs: number): string =>
	offsetMs === 0 ? NOW_SQL : `(${NOW_SQL} + (${offsetMs})::bigint)`
