/**
 * The commands `migrate` and `sql` of the groups `outbox`, `inbox` and `idempotency`: `migrate` creates or updates the
 * tables, `sql` prints the same migrations for another migration tool.
 */
import type { Migration, MigrationReport } from '../../sql/schema/migration.ts'
import { sanitizeLine } from '../../text/sanitize.ts'
import { type Command, defineCommand } from '../command.ts'
import {
	DATABASE_OPTIONS,
	type DatabaseTarget,
	IDEMPOTENCY_DATABASE_OPTIONS,
	INBOX_DATABASE_OPTIONS,
} from '../database/database-target.ts'
import { CliError, usageError } from '../errors.ts'
import { withNewStore } from '../idempotency/open-store.ts'
import { withInboxStore } from '../inbox/open-inbox-store.ts'
import type { CommandIo } from '../io.ts'
import { type Arguments, integer, text } from '../option-tables.ts'
import { withOutbox } from '../outbox/open-outbox.ts'

export const outboxMigrate: Command = defineCommand({
	examples: [
		['yaoki outbox migrate --database postgres://localhost/shop', 'PostgreSQL, in a schema of its own'],
		['yaoki outbox migrate --database outbox.db', 'SQLite; creates the file if needed'],
	],
	options: DATABASE_OPTIONS,
	async run(args, io) {
		return withOutbox({ ...args, canCreate: true }, io, async ({ outbox, target }) => {
			printReport(io, target, await outbox.migrate())
		})
	},
})

export const inboxMigrate: Command = defineCommand({
	examples: [
		['yaoki inbox migrate --database postgres://localhost/shop', 'PostgreSQL, in a schema of its own'],
		['yaoki inbox migrate --database shop.db', 'SQLite; creates the file if needed'],
	],
	options: INBOX_DATABASE_OPTIONS,
	async run(args, io) {
		return withInboxStore({ ...args, canCreate: true }, io, async (store, target) => {
			printReport(io, target, await store.migrate())
		})
	},
})

export const idempotencyMigrate: Command = defineCommand({
	examples: [
		['yaoki idempotency migrate --database postgres://localhost/shop', 'PostgreSQL, in a schema of its own'],
		['yaoki idempotency migrate --database shop.db', 'SQLite; creates the file if needed'],
	],
	options: IDEMPOTENCY_DATABASE_OPTIONS,
	async run(args, io) {
		return withNewStore(args, io, async (store, target) => {
			printReport(io, target, await store.migrate())
		})
	},
})

function printReport(io: CommandIo, target: DatabaseTarget, report: MigrationReport): void {
	const name = sanitizeLine(target.name)
	const { from, to, applied } = report
	io.result({ database: target.name, ...report }, () =>
		applied.length === 0
			? `${name}: up to date at version ${to}`
			: [`${name}: migrated from version ${from} to ${to}`, ...applied.map((step) => `  ${step}`)].join('\n'),
	)
}

const SQL_OPTIONS = {
	dialect: text('NAME', 'SQL dialect', { choices: ['postgres', 'sqlite'], default: 'postgres' }),
	from: integer('N', 'first version to print', { min: 1, default: 1 }),
	schema: DATABASE_OPTIONS.schema,
}

export const outboxSql: Command = defineCommand({
	examples: [
		['yaoki outbox sql > outbox.sql', 'for your own migration tool'],
		[
			'yaoki outbox sql --dialect sqlite --from 2',
			'migrations from version 2 on; exit code 3 if there are none',
		],
	],
	options: SQL_OPTIONS,
	async run(args, io) {
		const { outboxMigrations } = await import('./migrations.ts')
		printMigrations(io, args, outboxMigrations)
	},
})

export const inboxSql: Command = defineCommand({
	examples: [
		['yaoki inbox sql > inbox.sql', 'for your own migration tool'],
		['yaoki inbox sql --dialect sqlite', 'for SQLite'],
	],
	options: SQL_OPTIONS,
	async run(args, io) {
		const { inboxMigrations } = await import('./migrations.ts')
		printMigrations(io, args, inboxMigrations)
	},
})

export const idempotencySql: Command = defineCommand({
	examples: [
		['yaoki idempotency sql > idempotency.sql', 'for your own migration tool'],
		['yaoki idempotency sql --dialect sqlite', 'for SQLite'],
	],
	options: SQL_OPTIONS,
	async run(args, io) {
		const { idempotencyMigrations } = await import('./migrations.ts')
		printMigrations(io, args, idempotencyMigrations)
	},
})

/** Prints the migrations from a version on. `list` returns all of them. */
function printMigrations(
	io: CommandIo,
	{ dialect, from, schema }: Arguments<typeof SQL_OPTIONS>,
	list: (dialect: 'postgres' | 'sqlite', schema: string | undefined) => readonly Migration[],
): void {
	if (dialect === 'sqlite' && schema !== undefined) throw usageError('--schema requires --dialect postgres.')
	const all = list(dialect, schema)
	const migrations = all.filter(({ version }) => version >= from)
	if (migrations.length === 0)
		throw new CliError(
			'notFound',
			`Migration ${from} does not exist. The latest is ${all.at(-1)?.version ?? 0}.`,
			{ hint: 'Nothing was printed, so a file that the output was redirected to is empty.' },
		)
	io.result({ dialect, migrations }, () =>
		migrations.map(({ version, name, sql }) => `-- ${version}: ${name}\n${sql.trim()}\n`).join('\n'),
	)
}
