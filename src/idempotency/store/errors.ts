/** Errors between the engine and the database of its store. */
import { safeGet } from '../../core/classify/safe-get.ts'
import { YaokiError } from '../../core/errors/errors.ts'

const MIGRATE = 'Run `await store.migrate()` or `yaoki idempotency migrate`.'

function versionText(found: number, needed: number): string {
	if (found === 0) return `The idempotency store has no tables. ${MIGRATE}`
	const versions = `The idempotency tables have version ${found}, this release needs version ${needed}.`
	return found < needed
		? `${versions} ${MIGRATE}`
		: `${versions} Install the newer release that created them.`
}

/** The tables of the store have another version than this release needs. */
export class IdempotencySchemaError extends YaokiError {
	override readonly name = 'IdempotencySchemaError'
	/** 0 if there are no tables. */
	readonly found: number
	readonly needed: number

	constructor(found: number, needed: number) {
		super('YAOKI_IDEMPOTENCY_SCHEMA', versionText(found, needed))
		this.found = found
		this.needed = needed
	}
}

/** The database of the store could not run an operation. `cause` is the database's error. */
export class IdempotencyStoreError extends YaokiError {
	override readonly name = 'IdempotencyStoreError'

	/** `hint` is a sentence that says what to do. */
	constructor(cause: unknown, hint?: string) {
		const reason = safeGet(cause, 'message') ?? cause
		const what = `Cannot use the database of the idempotency store: ${reason}`
		super('YAOKI_IDEMPOTENCY_STORE', hint === undefined ? what : `${what}. ${hint}`, { cause })
	}
}
