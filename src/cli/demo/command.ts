/** `yaoki demo`: what it takes. What it does is loaded when it is asked for. */
import { type Command, defineCommand } from '../command.ts'
import { DATABASE_OPTIONS } from '../outbox/database-target.ts'

export const command: Command = defineCommand({
	examples: [
		{ command: 'yaoki demo', description: 'about half a minute, with SQLite in a temporary folder' },
		{
			command: 'DATABASE_URL=postgres://localhost/shop yaoki demo --seconds 10',
			description: 'on a PostgreSQL',
		},
	],
	options: {
		seconds: {
			type: 'number',
			short: 's',
			placeholder: 'N',
			description: 'about how long',
			default: 30,
			min: 5,
			max: 3600,
		},
		database: {
			...DATABASE_OPTIONS.database,
			description:
				'postgres://..., where it works in a schema of its own; else DATABASE_URL, else SQLite in a temporary folder',
		},
	},
	positionals: {},
	async run(asked, io) {
		const { runDemo } = await import('./run-demo.ts')
		return runDemo(asked, io)
	},
})
