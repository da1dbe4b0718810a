/** The options of `yaoki demo`. Its implementation is loaded when it runs. */
import { type Command, defineCommand } from '../command.ts'
import { DATABASE_OPTIONS } from '../database/database-target.ts'
import { number } from '../option-tables.ts'

export const demo: Command = defineCommand({
	examples: [
		['yaoki demo', 'about 30 seconds, with SQLite in a temporary folder'],
		[
			'yaoki demo --seconds 600',
			'prints two URLs: of its dashboard, and to start (curl -X PUT URL) and end (-X DELETE) an outage',
		],
		['DATABASE_URL=postgres://localhost/shop yaoki demo --seconds 10', 'with PostgreSQL'],
	],
	options: {
		seconds: number('N', 'approximate duration', { short: 's', default: 30, min: 5, max: 3600 }),
		database: {
			...DATABASE_OPTIONS.database,
			description:
				'postgres://..., in a schema of its own; default DATABASE_URL, then SQLite in a temporary folder',
		},
	},
	async run(args, io) {
		const { runDemo } = await import('./run-demo.ts')
		return runDemo(args, io)
	},
})
