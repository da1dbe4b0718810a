/** `yaoki demo`: what it takes. What it does is loaded when it is asked for. */
import { type Command, defineCommand } from '../command.ts'
import { DATABASE_OPTIONS } from '../outbox/target.ts'

export const command: Command = defineCommand({
	name: 'demo',
	summary: 'shows an outbox at work: failures, an outage and a kill, and nothing lost',
	examples: [
		{ run: 'yaoki demo', shows: 'about half a minute, with SQLite in a temporary folder' },
		{ run: 'DATABASE_URL=postgres://localhost/shop yaoki demo --seconds 10', shows: 'on a PostgreSQL' },
	],
	options: {
		seconds: {
			type: 'number',
			short: 's',
			value: 'N',
			does: 'about how long',
			default: 30,
			least: 5,
			most: 3600,
		},
		database: {
			...DATABASE_OPTIONS.database,
			does: 'postgres://..., where it works in a schema of its own; else DATABASE_URL, else SQLite in a temporary folder',
		},
	},
	positionals: {},
	async run(asked, io) {
		const { runDemo } = await import('./run-demo.ts')
		return runDemo(asked, io)
	},
})
