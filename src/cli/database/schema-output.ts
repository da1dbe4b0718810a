/** What the commands `migrate` and `sql` of all groups print. */
import type { Migration, MigrationReport } from '../../sql/schema/migration.ts'
import { sanitizeLine } from '../../text/sanitize.ts'
import { CliError } from '../errors.ts'
import type { CommandIo } from '../io.ts'
import { integer, text } from '../option-tables.ts'
import type { DatabaseTarget } from './database-target.ts'

export function printReport(io: CommandIo, target: DatabaseTarget, report: MigrationReport): void {
	const name = sanitizeLine(target.name)
	const { from, to, applied } = report
	io.result({ database: target.name, ...report }, () =>
		applied.length === 0
			? `${name}: up to date at version ${to}`
			: [`${name}: migrated from version ${from} to ${to}`, ...applied.map((step) => `  ${step}`)].join('\n'),
	)
}

export const SQL_OPTIONS = {
	dialect: text('NAME', 'SQL dialect', { choices: ['postgres', 'sqlite'], default: 'postgres' }),
	from: integer('N', 'first version to print', { min: 1, default: 1 }),
}

interface SqlArguments {
	readonly dialect: 'postgres' | 'sqlite'
	readonly from: number
	readonly schema: string | undefined
}

/** Prints the migrations from a version on. `scripts` returns all of them. */
export async function printMigrations(
	io: CommandIo,
	{ dialect, from, schema }: SqlArguments,
	scripts: (
		dialect: 'postgres' | 'sqlite',
		schema: string | undefined,
	) => readonly Migration[] | Promise<readonly Migration[]>,
): Promise<'ok'> {
	if (dialect === 'sqlite' && schema !== undefined)
		throw new CliError('usage', '--schema requires --dialect postgres.')
	const all = await scripts(dialect, schema)
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
}
