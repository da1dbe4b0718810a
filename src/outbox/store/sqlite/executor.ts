/** Runs every call of the store through the group commit, and turns errors into ones that say what to do. */
import { YaokiError } from '../../../core/errors/errors.ts'
import type { Runtime } from '../../../core/runtime/runtime.ts'
import type { SqliteClient } from '../../../sql/clients.ts'
import type { SqliteClock } from '../../../sql/clock/sqlite-clock.ts'
import { TimedTransactions } from '../../../sql/clock/timed-transactions.ts'
import type { SqliteConnection } from '../../../sql/sqlite-connection.ts'
import { isSchemaMismatch, sqliteHint } from '../../../sql/sqlite-errors.ts'
import { OutboxSchemaError, OutboxStoreError } from '../errors.ts'
import type { OutboxStore } from '../store.ts'
import { NEEDED_VERSION, schemaVersion } from './schema.ts'

/** Returns the error for the caller; `cause` is SQLite's own. */
export const storeError = (action: string, error: unknown): Error =>
	error instanceof YaokiError ? error : new OutboxStoreError(action, error, sqliteHint(error))

/** Methods as they run on the store's connection: synchronously. */
export type Synchronous<Methods> = {
	[Name in keyof Methods]: Methods[Name] extends (...args: infer Args) => infer Result
		? (...args: Args) => Awaited<Result>
		: never
}

/** Methods of a store. */
export type Operations<Name extends keyof OutboxStore> = Synchronous<Pick<OutboxStore, Name>>

/** What methods do, by their names. Completes "Cannot ..." in errors. */
type Actions<Methods> = Readonly<Partial<Record<keyof Methods, string>>>

export class SqliteExecutor {
	readonly #connection: SqliteConnection
	readonly #file: string
	readonly #transactions: TimedTransactions

	/** `clock` is missing if the connection has a clock of its own. */
	constructor(connection: SqliteConnection, file: string, runtime: Runtime, clock?: SqliteClock) {
		this.#connection = connection
		this.#file = file
		this.#transactions = new TimedTransactions(connection, runtime, clock)
	}

	/** `action` completes "Cannot ..." in errors. `isSolo` is as in `Work`. */
	async run<T>(mode: 'read' | 'write', action: string, work: (isSolo: boolean) => T): Promise<T> {
		try {
			return await this.#transactions.run(mode, work)
		} catch (error) {
			throw this.explain(action, error)
		}
	}

	/** Returns the methods of a store, which run the operations in transactions. */
	bind<Methods extends object>(
		operations: Synchronous<Methods>,
		reads: Actions<Methods>,
		writes: Actions<Methods>,
	): Methods {
		const methodsFor = (mode: 'read' | 'write', actions: Actions<Methods>) =>
			Object.entries<string | undefined>(actions).map(([name, action = name]) => {
				const operation = operations[name as keyof Methods] as (...args: unknown[]) => unknown
				return [name, (...args: unknown[]) => this.run(mode, action, () => operation(...args))]
			})
		return Object.fromEntries([...methodsFor('read', reads), ...methodsFor('write', writes)]) as Methods
	}

	/** Resolves when no work is left. */
	idle(): Promise<void> {
		return this.#transactions.idle()
	}

	/** A missing table means tables of another version, or a `tx` of another database. */
	explain(action: string, error: unknown, tx?: SqliteClient): Error {
		if (isSchemaMismatch(error)) {
			const version = this.#version()
			if (version !== undefined && version !== NEEDED_VERSION)
				return new OutboxSchemaError(version, NEEDED_VERSION)
			if (tx && tx !== this.#connection.database)
				return new OutboxStoreError(action, error, 'tx is connected to another database than the outbox.')
		}
		return storeError(`${action} (${this.#file})`, error)
	}

	#version(): number | undefined {
		try {
			return schemaVersion(this.#connection)
		} catch {
			return undefined
		}
	}
}
