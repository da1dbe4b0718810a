import type { Migration, MigrationReport } from '../../sql/schema/migration.ts'
import type { IdempotencyStore } from './store.ts'

/** A store of idempotency keys in a table of a database. */
export interface SqlIdempotencyStore<Tx = unknown> extends IdempotencyStore<Tx> {
	/** The steps that `migrate` runs, as SQL to run by hand. */
	readonly migrations: readonly Migration[]
	/** Creates or updates the table. Several processes may call it concurrently. */
	migrate(): Promise<MigrationReport>
	/** Returns the version of the table, 0 if it does not exist. */
	schemaVersion(): Promise<number>
	transaction: NonNullable<IdempotencyStore<Tx>['transaction']>
	completeIn: NonNullable<IdempotencyStore<Tx>['completeIn']>
	close(): Promise<void>
}
