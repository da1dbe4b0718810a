import { checkNames, invalidOption, type OptionSchema, readOptions } from '../../../core/options/schema.ts'
import type { Runtime } from '../../../core/runtime/runtime.ts'

/** Where the outbox is. */
export interface SqliteStoreOptions {
	/** The database's file, made when it is missing (its folder is not); `':memory:'` for one that ends with the store. */
	readonly file: string
	/** For tests only: milliseconds since 1970 in the place of the database's clock. */
	readonly clock?: (() => number) | undefined
	/** Time and chance of this process, for its pauses. Default: the system's. */
	readonly runtime?: Runtime | undefined
}

const RULES: OptionSchema = { file: 'string', clock: 'function', runtime: 'any' }

export function readSqliteOptions(given: SqliteStoreOptions | string): SqliteStoreOptions {
	const options = typeof given === 'string' ? { file: given } : given
	checkNames(options, RULES)
	const settings = readOptions<SqliteStoreOptions>(options, RULES)
	// SQLite takes an empty name for a temporary file that nobody else sees and that is gone after: never what an outbox is for.
	if (!settings.file) invalidOption('file', settings.file, "the name of a file, or ':memory:'")
	return settings
}
