/** What goes wrong between the outbox and its database. */
import { YaokiError } from '../../core/errors/errors.ts'

/** The tables are not those that this version needs. */
export class SchemaVersionError extends YaokiError {
	override readonly name = 'SchemaVersionError'
	readonly found: number
	readonly needed: number

	constructor(found: number, needed: number) {
		const what =
			found === 0
				? 'the outbox has no tables yet; run outbox.migrate() or `yaoki outbox migrate`'
				: found < needed
					? `the outbox's tables are of version ${found} and this release needs ${needed}; run outbox.migrate() or \`yaoki outbox migrate\``
					: `the outbox's tables are of version ${found} and this release knows only ${needed}; install the newer release that made them`
		super('YAOKI_OUTBOX_SCHEMA', what)
		this.found = found
		this.needed = needed
	}
}

/** The database could not do it. `cause` is its own error. */
export class StoreError extends YaokiError {
	override readonly name = 'StoreError'

	constructor(doing: string, cause: unknown, hint?: string) {
		const why = cause instanceof Error ? cause.message : String(cause)
		super('YAOKI_OUTBOX_STORE', `${doing}: ${why}${hint === undefined ? '' : `; ${hint}`}`, { cause })
	}
}
