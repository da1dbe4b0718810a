/** `yaoki outbox why`: one sentence. */
import { type Command, defineCommand } from '../command.ts'
import { DATABASE_OPTIONS } from './target.ts'

export const command: Command = defineCommand({
	examples: [
		{
			command: 'yaoki outbox why 019a8f0e-7b4c-7d31-9a52-0c8f1e6b2d77',
			description: 'waits for a retry, is held back, is dead, or nobody is there to send it',
		},
	],
	options: DATABASE_OPTIONS,
	positionals: { id: { placeholder: 'ID', description: "the message's id" } },
	async run({ id, ...asked }, io) {
		const { withOutbox } = await import('./open.ts')
		const { known } = await import('./chosen.ts')
		return withOutbox(asked, io, async ({ outbox }) => {
			const message = await known(outbox, id)
			const why = await outbox.why(message.id)
			io.result({ id: message.id, why }, why)
			return 'ok' as const
		})
	},
})
