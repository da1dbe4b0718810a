/** Errors between the engine and the database of its store. */
import { safeMessage } from '../../core/classify/safe-get.ts'
import { YaokiError } from '../../core/errors/errors.ts'
import { versionText } from '../../sql/schema/migration.ts'

const MIGRATE = 'Run `await store.migrate()` or `yaoki idempotency migrate`.'

/**
 * The tables of the store are missing or have another version than this release needs. Operations of
 * PostgreSQL and SQLite stores reject with it. Call `store.migrate()`.
 */
export class IdempotencySchemaError extends YaokiError {
	override readonly name = 'IdempotencySchemaError'
	/** 0 if there are no tables. */
	readonly found: number
	readonly needed: number

	constructor(found: number, needed: number) {
		const text = versionText('The idempotency store', 'The idempotency tables', found, needed, MIGRATE)
		super('YAOKI_IDEMPOTENCY_SCHEMA', text)
		this.found = found
		this.needed = needed
	}
}

/**
 * The database of the store could not run an operation, or `tx` does not belong to it: `cause` is its error,
 * and the message says what to do. Operations of PostgreSQL and SQLite stores reject with it. On PostgreSQL,
 * an error without advice is passed on as the client threw it.
 */
export class IdempotencyStoreError extends YaokiError {
	override readonly name = 'IdempotencyStoreError'

	/** `hint` is a sentence that says what to do. */
	constructor(cause: unknown, hint?: string) {
		const what = `Cannot use the database of the idempotency store: ${safeMessage(cause)}`
		super('YAOKI_IDEMPOTENCY_STORE', hint === undefined ? what : `${what}. ${hint}`, { cause })
	}
}
