/** `idempotency migrate` creates or updates the table; `idempotency sql` prints the same migrations for another migration tool. */
import { type Command, defineCommand } from '../command.ts'
import { IDEMPOTENCY_DATABASE_OPTIONS } from '../database/database-target.ts'
import { printMigrations, printReport, SQL_OPTIONS } from '../database/schema-output.ts'

export const migrate: Command = defineCommand({
	examples: [
		['yaoki idempotency migrate --database postgres://localhost/shop', 'PostgreSQL, in a schema of its own'],
		['yaoki idempotency migrate --database shop.db', 'SQLite; creates the file if needed'],
	],
	options: IDEMPOTENCY_DATABASE_OPTIONS,
	async run(args, io) {
		const { withNewStore } = await import('./open-store.ts')
		return withNewStore(args, io, async (store, target) => {
			printReport(io, target, await store.migrate())
			return 'ok' as const
		})
	},
})

export const sql: Command = defineCommand({
	examples: [
		['yaoki idempotency sql > idempotency.sql', 'for your own migration tool'],
		['yaoki idempotency sql --dialect sqlite', 'for SQLite'],
	],
	options: { ...SQL_OPTIONS, schema: IDEMPOTENCY_DATABASE_OPTIONS.schema },
	run: (args, io) =>
		printMigrations(io, args, async (dialect, schema) => {
			const { migrationScripts } = await import('./migration-scripts.ts')
			return migrationScripts(dialect, schema)
		}),
})
