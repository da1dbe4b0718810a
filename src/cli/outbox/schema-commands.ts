/** `outbox migrate` creates or updates the tables; `outbox sql` prints the same migrations for another migration tool. */
import { type Command, defineCommand } from '../command.ts'
import { DATABASE_OPTIONS } from '../database/database-target.ts'
import { printMigrations, printReport, SQL_OPTIONS } from '../database/schema-output.ts'

export const migrate: Command = defineCommand({
	examples: [
		['yaoki outbox migrate --database postgres://localhost/shop', 'PostgreSQL, in a schema of its own'],
		['yaoki outbox migrate --database outbox.db', 'SQLite; creates the file if needed'],
	],
	options: DATABASE_OPTIONS,
	async run(args, io) {
		const { withOutbox } = await import('./open-outbox.ts')
		return withOutbox({ ...args, canCreate: true }, io, async ({ outbox, target }) => {
			printReport(io, target, await outbox.migrate())
			return 'ok' as const
		})
	},
})

export const sql: Command = defineCommand({
	examples: [
		['yaoki outbox sql > outbox.sql', 'for your own migration tool'],
		[
			'yaoki outbox sql --dialect sqlite --from 2',
			'migrations from version 2 on; exit code 3 if there are none',
		],
	],
	options: { ...SQL_OPTIONS, schema: DATABASE_OPTIONS.schema },
	async run(args, io) {
		const { migrationScripts } = await import('./migration-scripts.ts')
		return printMigrations(io, args, migrationScripts)
	},
})
