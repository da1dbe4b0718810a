/**
 * The open transaction of an ORM as a client with `query(text, values)`. A function per ORM creates it, without
 * importing the ORM. It is never used outside a transaction: what the ORM knows of the end of its transaction is
 * read before every query, and where that is not exact, the statement asks PostgreSQL before it writes.
 *
 * Rejected: accepting each ORM's object in the stores. Every store would know every ORM, and an object with a
 * method `query` of another meaning, such as `sequelize.query(sql, options)`, would fail in the database.
 */
import { safeGet, safeMessage } from '../../core/classify/safe-get.ts'
import { YaokiError } from '../../core/errors/errors.ts'
import { invalidArgument } from '../../core/options/schema.ts'
import type { SqlClient } from '../clients.ts'
import { sqlState } from '../postgres-errors.ts'
import { isInTransaction } from '../transaction-state.ts'

/** What runs a text with `$1` parameters in the transaction, and returns its rows or an object with them. */
export type RunInTransaction = (
	text: string,
	values: unknown[],
) => PromiseLike<readonly unknown[] | { readonly rows: readonly unknown[] }>

export interface OrmTransactionParts {
	/** The name of the ORM, for errors. */
	readonly orm: string
	readonly run: RunInTransaction
	/** Returns whether the transaction is open; undefined if the ORM does not show it. */
	readonly isOpen?: (() => boolean) | undefined
	/** True if the ORM rejected a query because its transaction has ended. */
	readonly isEnd?: ((error: unknown) => boolean) | undefined
	/** False if nothing can be written after the end, so that PostgreSQL need not be asked. Default true. */
	readonly mustAsk?: boolean
}

export class OrmTransaction {
	/** Two copies of the package, such as CommonJS and ESM, recognize each other's objects by it. */
	readonly '~ormTransaction' = true
	/** True if only PostgreSQL knows for sure that a statement runs in a transaction. */
	readonly mustAsk: boolean
	readonly #parts: OrmTransactionParts

	constructor(parts: OrmTransactionParts) {
		this.#parts = parts
		this.mustAsk = parts.mustAsk ?? true
	}

	/** For errors. */
	get description(): string {
		return `a transaction of ${this.#parts.orm} on PostgreSQL`
	}

	/** Read by `transactionState`, as the property of `better-sqlite3`. */
	get inTransaction(): boolean | undefined {
		return this.#parts.isOpen?.()
	}

	async query(text: string, values: unknown[] = []): Promise<Awaited<ReturnType<RunInTransaction>>> {
		const { orm, run, isEnd } = this.#parts
		if (this.#hasEnded()) throw transactionClosedError(orm)
		try {
			return await run(text, values)
		} catch (error) {
			if (this.#hasEnded() || isEnd?.(error)) throw transactionClosedError(orm, error)
			throw error
		}
	}

	#hasEnded(): boolean {
		return this.inTransaction === false
	}
}

export const isOrmTransaction = (tx: unknown): tx is OrmTransaction => safeGet(tx, '~ormTransaction') === true

/**
 * Returns whether a transaction is open on `tx`; undefined if the statement has to ask PostgreSQL. What an ORM shows
 * is not exact: a query that is not awaited may run after the COMMIT.
 */
export function isCertainlyOpen(tx: SqlClient): boolean | undefined {
	if (!isOrmTransaction(tx)) return isInTransaction(tx)
	return tx.mustAsk ? undefined : (isInTransaction(tx) ?? true)
}

/** Returns true if only PostgreSQL knows whether the transaction of the ORM is open, also after its end. */
export const showsNoState = (tx: unknown): boolean =>
	isOrmTransaction(tx) && tx.mustAsk && tx.inTransaction === undefined

const CLOSED = 'YAOKI_TRANSACTION_CLOSED'

export const isTransactionClosed = (error: unknown): error is YaokiError => safeGet(error, 'code') === CLOSED

export function transactionClosedError(orm: string, cause?: unknown): YaokiError {
	const reason = cause === undefined ? '' : ` (${safeMessage(cause)})`
	return new YaokiError(
		CLOSED,
		`The transaction of ${orm} has ended${reason}, so nothing was written. Await everything that uses it before its callback returns or it is committed`,
		cause === undefined ? undefined : { cause },
	)
}

/** An error that neither PostgreSQL nor the driver created: the ORM itself rejected the query. */
export const isWithoutCode = (error: unknown): boolean => {
	const { code } = Object(error) as { readonly code?: unknown }
	return code === undefined && sqlState(error) === ''
}

/** Throws for a transaction of another database than PostgreSQL. `database` is what the ORM calls it. */
export function checkIsPostgres(orm: string, tx: unknown, database: unknown): void {
	if (typeof database !== 'string' || /postgres|^pg|cockroach/i.test(database)) return
	invalidArgument('tx', tx, `a transaction of ${orm} on PostgreSQL, and this one is on ${database}`)
}

const known = new WeakMap<object, OrmTransaction>()

/** One object per transaction of the ORM, so that messages of one transaction are followed once. */
export function oncePer(tx: object, create: () => OrmTransaction): OrmTransaction {
	const transaction = known.get(tx) ?? create()
	known.set(tx, transaction)
	return transaction
}

/** A property that an ORM does not declare. Undefined for anything that cannot be read. */
export function property(value: unknown, ...path: readonly string[]): unknown {
	let found: unknown = value
	try {
		for (const name of path) found = (found as Record<string, unknown> | null | undefined)?.[name]
	} catch {
		return undefined
	}
	return found
}

export const hasMethods = (value: unknown, ...names: readonly string[]): boolean =>
	names.every((name) => typeof property(value, name) === 'function')

/** What every function returns: its type is written out, so that users can name it. */
export type TxClient = {
	query(text: string, values?: unknown[]): Promise<readonly unknown[] | { readonly rows: readonly unknown[] }>
}
