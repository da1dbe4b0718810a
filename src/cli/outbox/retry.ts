/** `yaoki outbox retry`: what waits for its time need not wait any longer. */
import { type Command, defineCommand } from '../command.ts'
import { CliError } from '../errors.ts'
import { filterOf, isEmpty, QUEUE_FILTER_OPTIONS } from './filter-options.ts'
import { DATABASE_OPTIONS } from './target.ts'

export const command: Command = defineCommand({
	name: 'outbox retry',
	summary: 'makes messages that wait due now',
	examples: [
		{
			run: 'yaoki outbox retry --destination billing',
			shows: 'billing is back: do not wait for the backoff',
		},
		{ run: 'yaoki outbox retry 019a8f0e-7b4c-7d31-9a52-0c8f1e6b2d77', shows: 'only this one' },
	],
	options: {
		...DATABASE_OPTIONS,
		...QUEUE_FILTER_OPTIONS,
		all: { type: 'boolean', does: 'all that wait' },
	},
	positionals: { ids: { value: 'ID', does: 'the ids of messages', optional: true, multiple: true } },
	async run(asked, io) {
		const filter = filterOf(asked, io.runtime.wallNow())
		if (isEmpty(filter) !== asked.all)
			throw new CliError('usage', asked.all ? '--all stands alone' : 'takes ids, a filter, or --all')
		const { withOutbox } = await import('./open.ts')
		const { checkChosen } = await import('./chosen.ts')
		return withOutbox(asked, io, async ({ outbox }) => {
			await checkChosen(outbox, asked.ids, 'pending')
			const due = await outbox.retry(filter)
			io.answer({ due }, `${due} ${due === 1 ? 'message is' : 'messages are'} due now`)
			return 'ok' as const
		})
	},
})
