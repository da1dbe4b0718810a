/** The way in for every call: by the group commit to the database, and out again with errors that say what to do. */
import type { Runtime } from '../../../core/runtime/runtime.ts'
import { SchemaVersionError, StoreError } from '../errors.ts'
import type { SqliteClient } from '../queryable.ts'
import type { Connection } from './connection.ts'
import { GroupCommit } from './group-commit.ts'
import { versionOf } from './migrate.ts'
import { NEEDED_VERSION } from './migrations.ts'
import { isAboutSchema, storeError } from './sqlite-error.ts'

export class Access {
	readonly #connection: Connection
	readonly #group: GroupCommit

	constructor(connection: Connection, runtime: Runtime) {
		this.#connection = connection
		this.#group = new GroupCommit(connection, runtime)
	}

	/** `doing` is what an error says of it. `isCareful` is as of a `Work`. */
	write<T>(doing: string, work: (connection: Connection, isCareful: boolean) => T): Promise<T> {
		return this.#told(
			doing,
			this.#group.write((isCareful) => work(this.#connection, isCareful)),
		)
	}

	read<T>(doing: string, work: (connection: Connection) => T): Promise<T> {
		return this.#told(
			doing,
			this.#group.read(() => work(this.#connection)),
		)
	}

	/** Resolves when nothing is left to do. */
	idle(): Promise<void> {
		return this.#group.idle()
	}

	async #told<T>(doing: string, result: Promise<T>): Promise<T> {
		try {
			return await result
		} catch (error) {
			throw this.explained(doing, error)
		}
	}

	/** A missing table is told as what it is: tables of another version, or another database. */
	explained(doing: string, error: unknown, tx?: SqliteClient): Error {
		if (isAboutSchema(error)) {
			const version = this.#version()
			if (version !== undefined && version !== NEEDED_VERSION)
				return new SchemaVersionError(version, NEEDED_VERSION)
			if (tx && tx !== this.#connection.database)
				return new StoreError(doing, error, 'tx is a connection to another database than the outbox is in')
		}
		return storeError(`${doing} (${this.#connection.file})`, error)
	}

	#version(): number | undefined {
		try {
			return versionOf(this.#connection)
		} catch {
			return undefined
		}
	}
}
