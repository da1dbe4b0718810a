/** `outbox migrate` creates or updates the tables; `outbox sql` prints the same migrations for another migration tool. */
import { sanitizeLine } from '../../text/sanitize.ts'
import { type Command, defineCommand } from '../command.ts'
import { CliError } from '../errors.ts'
import { integer, text } from '../option-tables.ts'
import { DATABASE_OPTIONS } from './database-target.ts'

export const migrate: Command = defineCommand({
	examples: [
		['yaoki outbox migrate --database postgres://localhost/shop', 'PostgreSQL, in a schema of its own'],
		['yaoki outbox migrate --database outbox.db', 'SQLite; creates the file if needed'],
	],
	options: DATABASE_OPTIONS,
	async run(args, io) {
		const { withOutbox } = await import('./open-outbox.ts')
		return withOutbox({ ...args, canCreate: true }, io, async ({ outbox, target }) => {
			const name = sanitizeLine(target.name)
			const report = await outbox.migrate()
			const { from, to, applied } = report
			io.result({ database: target.name, ...report }, () =>
				applied.length === 0
					? `${name}: up to date at version ${to}`
					: [`${name}: migrated from version ${from} to ${to}`, ...applied.map((step) => `  ${step}`)].join(
							'\n',
						),
			)
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
	options: {
		dialect: text('NAME', 'SQL dialect', { choices: ['postgres', 'sqlite'], default: 'postgres' }),
		from: integer('N', 'first version to print', { min: 1, default: 1 }),
		schema: DATABASE_OPTIONS.schema,
	},
	async run({ dialect, from, schema }, io) {
		if (dialect === 'sqlite' && schema !== undefined)
			throw new CliError('usage', '--schema requires --dialect postgres.')
		const { migrationScripts } = await import('./migration-scripts.ts')
		const all = migrationScripts(dialect, schema)
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
		return 'ok'
	},
})
