/** Errors of an inbox. A receiver responds 409 with Retry-After to a conflict, and 500 to the others, so that the sender repeats the message. */
import { safeMessage } from '../../core/classify/safe-get.ts'
import { YaokiError } from '../../core/errors/errors.ts'
import { versionText } from '../../sql/schema/migration.ts'

const MIGRATE = 'Run inbox.migrate() or `yaoki inbox migrate`.'

/**
 * The tables of the inbox are missing or have another version than this release needs. Methods of an `Inbox`
 * reject with it, and nothing was processed. Call `inbox.migrate()`.
 */
export class InboxSchemaError extends YaokiError {
	override readonly name = 'InboxSchemaError'
	/** 0 if there are no tables. */
	readonly found: number
	readonly needed: number

	constructor(found: number, needed: number) {
		super('YAOKI_INBOX_SCHEMA', versionText('The inbox', 'The inbox tables', found, needed, MIGRATE))
		this.found = found
		this.needed = needed
	}
}

/**
 * The database could not run an operation of an `Inbox`: `cause` is its error, and the message says what to do.
 * On PostgreSQL, an error without advice is passed on as the client threw it.
 */
export class InboxStoreError extends YaokiError {
	override readonly name = 'InboxStoreError'

	/** `action` completes "Cannot ..."; `hint` is a sentence that says what to do. */
	constructor(action: string, cause: unknown, hint?: string) {
		const text = `Cannot ${action}: ${safeMessage(cause)}${hint === undefined ? '' : `. ${hint}`}`
		super('YAOKI_INBOX_STORE', text, { cause })
	}
}

/**
 * An earlier delivery of the message is in flight. `inbox.once` rejects with it if `onConflict` is `'reject'`, and
 * on SQLite if the earlier delivery uses the same connection. Respond with 409 and a Retry-After header.
 */
export class InboxConflictError extends YaokiError {
	override readonly name = 'InboxConflictError'
	readonly messageId: string
	/** When the sender should repeat the message. */
	readonly retryAfterMs: number

	constructor(messageId: string, retryAfterMs: number) {
		const text = `An earlier delivery of the message ${messageId} is in flight. Respond with 409 and Retry-After, so that the sender repeats it.`
		super('YAOKI_INBOX_CONFLICT', text)
		this.messageId = messageId
		this.retryAfterMs = retryAfterMs
	}
}

/**
 * `inbox.once` cannot write its mark together with your changes. `reason`: `outside-transaction` (no `tx`, or none
 * is open on it) and `wrong-database`: nothing was written. `ended`: the transaction ended before `once` returned.
 * `failed`: one of its statements failed, so that its COMMIT rolls everything back.
 */
export class InboxTransactionError extends YaokiError {
	override readonly name = 'InboxTransactionError'
	readonly reason: 'outside-transaction' | 'wrong-database' | 'ended' | 'failed'

	constructor(reason: InboxTransactionError['reason'], message: string, options?: ErrorOptions) {
		super('YAOKI_INBOX_TRANSACTION', message, options)
		this.reason = reason
	}
}
