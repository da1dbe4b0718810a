/** Errors between the outbox and its database. */
import { safeMessage } from '../../core/classify/safe-get.ts'
import { YaokiError } from '../../core/errors/errors.ts'
import { versionText } from '../../sql/schema/migration.ts'

const MIGRATE = 'Run outbox.migrate() or `yaoki outbox migrate`.'

/**
 * The tables are missing or have another version than this release needs. Methods of an `Outbox` and
 * `relay.start()` reject with it. Call `outbox.migrate()`.
 */
export class OutboxSchemaError extends YaokiError {
	override readonly name = 'OutboxSchemaError'
	readonly found: number
	readonly needed: number

	constructor(found: number, needed: number) {
		super('YAOKI_OUTBOX_SCHEMA', versionText('The outbox', 'The outbox tables', found, needed, MIGRATE))
		this.found = found
		this.needed = needed
	}
}

/**
 * The database could not run an operation: `cause` is its error, and the message says what to do. Methods of
 * an `Outbox` and `relay.start()` reject with it; a running relay emits `relay_store_error` and continues
 * when the database is back. On PostgreSQL, an error without advice is passed on as the client threw it.
 */
export class OutboxStoreError extends YaokiError {
	override readonly name = 'OutboxStoreError'

	/** `action` completes "Cannot ..."; `hint` is a sentence that says what to do. */
	constructor(action: string, cause: unknown, hint?: string) {
		const reason = safeMessage(cause)
		super('YAOKI_OUTBOX_STORE', `Cannot ${action}: ${reason}${hint === undefined ? '' : `. ${hint}`}`, {
			cause,
		})
	}
}
