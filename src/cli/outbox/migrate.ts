/** `yaoki outbox migrate`: makes the tables, or brings them up to date. */
import { type Command, defineCommand } from '../command.ts'
import { DATABASE_OPTIONS } from './target.ts'

export const command: Command = defineCommand({
	examples: [
		{
			command: 'yaoki outbox migrate --database postgres://localhost/shop',
			description: 'in a schema of its own',
		},
		{
			command: 'yaoki outbox migrate --database outbox.db',
			description: 'in a file, which is made if need be',
		},
	],
	options: DATABASE_OPTIONS,
	positionals: {},
	async run(asked, io) {
		const { withOutbox } = await import('./open.ts')
		return withOutbox(
			asked,
			io,
			async ({ outbox, target: { name } }) => {
				const report = await outbox.migrate()
				const { from, to, applied } = report
				io.result({ database: name, ...report }, () =>
					applied.length === 0
						? `${name}: nothing to do, the tables are of version ${to}`
						: [`${name}: from version ${from} to ${to}`, ...applied.map((step) => `  ${step}`)].join('\n'),
				)
				return 'ok' as const
			},
			{ mayCreate: true },
		)
	},
})
