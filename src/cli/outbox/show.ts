/** `yaoki outbox show`: all that is known about one message. */
import { type Command, defineCommand } from '../command.ts'
import { DATABASE_OPTIONS } from './target.ts'

export const command: Command = defineCommand({
	examples: [
		{
			command: 'yaoki outbox show 019a8f0e-7b4c-7d31-9a52-0c8f1e6b2d77',
			description: 'where it is, how often it was tried, what went wrong, and what is in it',
		},
	],
	options: DATABASE_OPTIONS,
	positionals: { id: { placeholder: 'ID', description: "the message's id" } },
	async run({ id, ...asked }, io) {
		const { withOutbox } = await import('./open.ts')
		const { known } = await import('./chosen.ts')
		const { messageText } = await import('./message-text.ts')
		return withOutbox(asked, io, async ({ outbox }) => {
			const message = await known(outbox, id)
			const why = await outbox.why(message.id)
			io.result({ ...message, why }, () => messageText(message, why, io))
			return 'ok' as const
		})
	},
})
