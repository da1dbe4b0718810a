/** `yaoki outbox sql`: the migrations as text, for those who let nothing but their own tool touch a schema. */
import { type Command, defineCommand } from '../command.ts'
import { CliError } from '../errors.ts'

export const command: Command = defineCommand({
	examples: [
		{ command: 'yaoki outbox sql > outbox.sql', description: 'for a migration tool of your own' },
		{
			command: 'yaoki outbox sql --dialect sqlite --from 2',
			description: 'only what came after the first; exit code 3 if nothing did',
		},
	],
	options: {
		dialect: {
			type: 'string',
			placeholder: 'NAME',
			description: 'for which database',
			choices: ['postgres', 'sqlite'],
			default: 'postgres',
		},
		from: { type: 'integer', placeholder: 'N', description: 'the first one to print', min: 1, default: 1 },
		schema: { type: 'string', placeholder: 'NAME', description: 'the schema of the tables in PostgreSQL' },
	},
	positionals: {},
	async run({ dialect, from, schema }, io) {
		if (dialect === 'sqlite' && schema !== undefined)
			throw new CliError('usage', '--schema goes with --dialect postgres')
		const { migrationsOf } = await import('./migrations.ts')
		const all = migrationsOf(dialect, schema)
		const asked = all.filter(({ version }) => version >= from)
		if (asked.length === 0)
			throw new CliError(
				'notFound',
				`there is no migration ${from}; the latest is ${all.at(-1)?.version ?? 0}`,
				{ hint: 'Nothing was printed. A file that it was to go to is empty.' },
			)
		io.result({ dialect, migrations: asked }, () =>
			asked.map(({ version, name, sql }) => `-- ${version}: ${name}\n${sql.trim()}\n`).join('\n'),
		)
		return 'ok'
	},
})
