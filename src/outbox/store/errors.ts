/** Errors between the outbox and its database. */
import { safeGet } from '../../core/classify/safe-get.ts'
import { YaokiError } from '../../core/errors/errors.ts'

const MIGRATE = 'Run outbox.migrate() or `yaoki outbox migrate`.'

function versionText(found: number, needed: number): string {
	if (found === 0) return `The outbox has no tables. ${MIGRATE}`
	const versions = `The outbox tables have version ${found}, this release needs version ${needed}.`
	return found < needed
		? `${versions} ${MIGRATE}`
		: `${versions} Install the newer release that created them.`
}

/** The tables have another version than this release needs. */
export class SchemaVersionError extends YaokiError {
	override readonly name = 'SchemaVersionError'
	readonly found: number
	readonly needed: number

	constructor(found: number, needed: number) {
		super('YAOKI_OUTBOX_SCHEMA', versionText(found, needed))
		this.found = found
		this.needed = needed
	}
}

/** The database could not run an operation. `cause` is the database's error. */
export class StoreError extends YaokiError {
	override readonly name = 'StoreError'

	/** `action` completes "Cannot ..."; `hint` is a sentence that says what to do. */
	constructor(action: string, cause: unknown, hint?: string) {
		const reason = safeGet(cause, 'message') ?? cause
		super('YAOKI_OUTBOX_STORE', `Cannot ${action}: ${reason}${hint === undefined ? '' : `. ${hint}`}`, {
			cause,
		})
	}
}
