/**
 * Runs the statements of a relay with plans that do not depend on statistics. A queue is analyzed while it is
 * empty and holds thousands of messages a second later, and a cached plan that reads the whole table outlives
 * the growth of the table. So every statement carries settings that leave the planner only indexes, positions
 * (ctid) and nested loops; the statements are written so that one index fits each lookup.
 *
 * Settings and statement are one text. PostgreSQL runs it in one round trip as one transaction, and an error
 * leaves nothing to roll back. Such a text has no parameters, so values are literals and the statement is
 * prepared by SQL.
 *
 * Read docs/decisions/0049-bounded-statements.md before you change this file: states, invariants, timeouts, what
 * to test, and what was rejected.
 */
import { TimeoutError } from '../core/errors/errors.ts'
import { isPGlite, type PGliteLike, type PgClient, type PgPool } from './clients.ts'
import { againIfLost, inPgTransaction } from './pg-transaction.ts'
import {
	isCancelledStatement,
	isDuplicateStatement,
	isLostStatement,
	isMissingStatement,
	sqlState,
} from './postgres-errors.ts'
import type { Value } from './postgres-values.ts'

const SETTINGS = [
	'enable_seqscan = off',
	'enable_bitmapscan = off',
	'enable_sort = off',
	'enable_hashjoin = off',
	'enable_mergejoin = off',
	// Before PostgreSQL 18 a plan without alternative to these has an enormous cost, for which PostgreSQL would
	// compile it.
	'jit = off',
	// The parameters do not change the plan.
	'plan_cache_mode = force_generic_plan',
]
	.map((setting) => `set local ${setting};`)
	.join(' ')

/** Another default isolation level would make statements that meet others fail (40001). */
const LEVEL = 'isolation level read committed'
const ALONE = `set transaction ${LEVEL}; ${SETTINGS} `

interface Statement {
	readonly name: string
	readonly text: string
}

interface BoundedSettings {
	readonly client: PgPool | PGliteLike
	readonly prepare: boolean
	complete(sql: string): Statement
	/** Explains an error of `work`. */
	guard<T>(work: () => Promise<T>): Promise<T>
}

/** A constant text with its values. */
interface BoundStatement {
	readonly sql: string
	readonly values: readonly Value[]
}

/** Limits of one statement. */
export interface StatementLimits {
	/** Cancelled by the server after this time, or after its own `statement_timeout` if that is shorter. */
	readonly timeoutMs: number
	/** Identifies the statement among those that run now; shown in `pg_stat_activity`. */
	readonly label: string
	/** Cancels the statement on the server when it is aborted. */
	readonly signal?: AbortSignal | undefined
}

const SERVER_TIMEOUT = "select setting from pg_settings where name = 'statement_timeout'"

const CANCEL = `
select pg_cancel_backend(pid) from pg_stat_activity
where datname = current_database() and state = 'active' and pid <> pg_backend_pid() and starts_with(query, $1::text)`

/** Runs a constant text. */
export interface StatementRunner {
	run<Row>(sql: string, values?: readonly Value[]): Promise<readonly Row[]>
}

export class BoundedExecutor implements StatementRunner {
	readonly #given: BoundedSettings
	/** Becomes false behind a pooler that changes the server's connection between two texts. */
	#canPrepare: boolean
	/** The server's default, looked up once. */
	#serverTimeoutMs: number | undefined

	constructor(given: BoundedSettings) {
		this.#given = given
		this.#canPrepare = given.prepare
	}

	/**
	 * `next` is a second statement of the same transaction and round trip, which sees what was committed since
	 * the first one started. Its rows follow those of the first. Limits do not apply to PGlite, which runs in
	 * this process.
	 */
	run<Row>(
		sql: string,
		values: readonly Value[] = [],
		limits?: StatementLimits | undefined,
		next?: BoundStatement | undefined,
	): Promise<readonly Row[]> {
		const { client, guard } = this.#given
		const statements = [{ sql, values }, ...(next ? [next] : [])]
		return guard(async () => {
			if (!isPGlite(client)) return this.#runOnPool<Row>(client, statements, limits)
			return rowsOf<Row>(await client.exec(`${ALONE}${this.#allInline(statements)}`), statements.length)
		})
	}

	/** Runs `work` in one transaction, read committed: each statement sees what was committed before it. */
	transaction<T>(work: (executor: StatementRunner) => Promise<T>): Promise<T> {
		const { client, guard } = this.#given
		return guard(() => {
			if (!isPGlite(client))
				return againIfLost(() =>
					inPgTransaction(client.connect(), `begin ${LEVEL}; ${SETTINGS}`, (connection) =>
						work({ run: (sql, values = []) => this.#runIn(connection, sql, values) }),
					),
				)
			return client.transaction(async (tx) => {
				await tx.exec(ALONE)
				return work({ run: async (sql, values = []) => rowsOf(await tx.exec(this.#inline(sql, values))) })
			})
		})
	}

	/** Returns the server's own `statement_timeout`; 0 without one. */
	async serverTimeoutMs(): Promise<number> {
		const [found] = await this.run<{ setting: string }>(SERVER_TIMEOUT)
		return Number(found?.setting)
	}

	async #runOnPool<Row>(
		pool: PgPool,
		statements: readonly BoundStatement[],
		limits: StatementLimits | undefined,
	): Promise<readonly Row[]> {
		const client = await pool.connect()
		const signal = limits?.signal
		if (signal?.aborted) {
			client.release()
			throw signal.reason
		}
		const comment = limits ? `/* yaoki ${limits.label.replaceAll(/[^\w.: -]/g, '_')} */ ` : ''
		// The request runs on another connection and finds the statement by its comment: behind a pooler, this
		// process does not know the number of the server's process.
		const cancel = () => void pool.query(CANCEL, [comment]).catch(() => {})
		signal?.addEventListener('abort', cancel)
		let isBroken = false
		// A lost connection emits an event, and without a handler that ends the process.
		const onError = () => {
			isBroken = true
		}
		client.on('error', onError)
		try {
			const timeout = limits ? await this.#timeoutSql(client, limits.timeoutMs) : ''
			return await this.#runAlone<Row>(client, `${comment}${ALONE}${timeout}`, statements)
		} catch (error) {
			isBroken ||= sqlState(error) === ''
			const limitMs = limits && this.#limitMs(limits.timeoutMs)
			throw limitMs !== undefined && isCancelledStatement(error)
				? new TimeoutError(limits?.label.split(' ')[0] ?? '', limitMs)
				: error
		} finally {
			signal?.removeEventListener('abort', cancel)
			client.release(isBroken)
			client.removeListener('error', onError)
		}
	}

	async #timeoutSql(client: PgClient, timeoutMs: number): Promise<string> {
		this.#serverTimeoutMs ??= Number(
			rowsOf<{ setting: string }>(await client.query(SERVER_TIMEOUT))[0]?.setting,
		)
		return `set local statement_timeout = ${Math.ceil(this.#limitMs(timeoutMs))}; `
	}

	/** Returns the shorter one of this time and the server's own. 0 is no timeout. */
	#limitMs(timeoutMs: number): number {
		return Math.min(timeoutMs, this.#serverTimeoutMs || Infinity)
	}

	async #runAlone<Row>(
		client: PgClient,
		before: string,
		statements: readonly BoundStatement[],
	): Promise<readonly Row[]> {
		const { length } = statements
		while (this.#canPrepare) {
			let isNew = false
			for (const { sql } of statements) isNew = (await this.#prepare(client, before, sql)) || isNew
			try {
				const executions = statements.map(({ sql, values }) => this.#execution(sql, values))
				return rowsOf(await client.query(`${before}${executions.join('; ')}`), length)
			} catch (error) {
				if (!isMissingStatement(error)) throw error
				// Prepared a moment ago: the text ran on another connection of the server. Otherwise something
				// removed it, for example DISCARD.
				if (isNew) this.#canPrepare = false
				namesOn(client).clear()
			}
		}
		return rowsOf(await client.query(`${before}${this.#allInline(statements)}`), length)
	}

	/** An error ends the transaction, so a lost statement cannot be repaired here: `againIfLost` runs the transaction again. */
	async #runIn<Row>(client: PgClient, sql: string, values: readonly Value[]): Promise<readonly Row[]> {
		if (!this.#canPrepare) return rowsOf(await client.query(this.#inline(sql, values)))
		try {
			const { name, text } = this.#given.complete(sql)
			if (!namesOn(client).has(name)) await client.query(preparation(name, text))
			namesOn(client).add(name)
			return rowsOf(await client.query(this.#execution(sql, values)))
		} catch (error) {
			if (isLostStatement(error)) this.#canPrepare = false
			if (isMissingStatement(error)) namesOn(client).clear()
			throw error
		}
	}

	/** Prepares the statement if this connection has not done so. Returns true if it did so now. */
	async #prepare(client: PgClient, before: string, sql: string): Promise<boolean> {
		const { name, text } = this.#given.complete(sql)
		const names = namesOn(client)
		if (names.has(name)) return false
		// The preparation has the timeout too, because it waits for locks of the tables.
		await client.query(`${before}${preparation(name, text)}`).catch((error: unknown) => {
			// The name is derived from the text, so a statement of that name is this one.
			if (!isDuplicateStatement(error)) throw error
		})
		names.add(name)
		return true
	}

	#execution(sql: string, values: readonly Value[]): string {
		const parameters = values.length > 0 ? `(${values.map(literal).join(', ')})` : ''
		return `execute ${boundedName(this.#given.complete(sql).name)}${parameters}`
	}

	#allInline(statements: readonly BoundStatement[]): string {
		return statements.map(({ sql, values }) => this.#inline(sql, values)).join('; ')
	}

	#inline(sql: string, values: readonly Value[]): string {
		const { text } = this.#given.complete(sql)
		return text.replaceAll(/\$(\d+)/g, (_, position: string) => literal(values[Number(position) - 1] ?? null))
	}
}

/** Names of the statements that a connection has prepared. Kept on the connection, because several stores can share a pool. */
const PREPARED = Symbol.for('yaoki.sql.prepared')

function namesOn(client: PgClient & { [PREPARED]?: Set<string> }): Set<string> {
	client[PREPARED] ??= new Set()
	return client[PREPARED]
}

const preparation = (name: string, text: string): string => `prepare ${boundedName(name)} as ${text}`

/** The driver prepares some of the texts too, under their own names. */
const boundedName = (name: string): string => `${name}_bounded`

/** Returns the rows of the last statements of a text. */
function rowsOf<Row>(result: unknown, count = 1): readonly Row[] {
	const results = (Array.isArray(result) ? result.slice(-count) : [result]) as { readonly rows: Row[] }[]
	return results.flatMap(({ rows }) => rows)
}

/** Returns an SQL literal that means the same whether or not the server reads backslashes as escapes. */
function literal(value: Value): string {
	if (value === null) return 'null'
	const text = String(value).replaceAll("'", "''")
	return text.includes('\\') ? ` E'${text.replaceAll('\\', '\\\\')}'` : `'${text}'`
}
