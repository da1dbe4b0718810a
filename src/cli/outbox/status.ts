/** `yaoki outbox status`: how the outbox is doing, at a glance. */
import { type Command, defineCommand } from '../command.ts'
import { DATABASE_OPTIONS } from './target.ts'

export const command: Command = defineCommand({
	examples: [
		{ command: 'yaoki outbox status', description: 'in all, by destination, the next hour, relays' },
		{ command: 'yaoki outbox status --json', description: 'the same for a program' },
	],
	options: DATABASE_OPTIONS,
	positionals: {},
	async run(asked, io) {
		const { withOutbox } = await import('./open.ts')
		const { statusText } = await import('./status-text.ts')
		return withOutbox(asked, io, async ({ outbox, target: { name } }) => {
			const stats = await outbox.stats()
			io.result({ database: name, ...stats }, () => statusText(name, stats, io))
			return 'ok' as const
		})
	},
})
