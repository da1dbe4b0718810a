/**
 * `yaoki outbox retry`: what waits for a retry need not wait any longer. What was never tried waits because somebody wanted it to: a
 * reminder for tomorrow must not go out because billing is back. Only who names it by its id can mean that.
 */
import { formatNumber } from '../../text/format.ts'
import { type Command, defineCommand } from '../command.ts'
import { CliError } from '../errors.ts'
import { filterOf, isEmpty, QUEUE_FILTER_OPTIONS } from './filter-options.ts'
import { DATABASE_OPTIONS } from './target.ts'

export const command: Command = defineCommand({
	examples: [
		{
			command: 'yaoki outbox retry --destination billing',
			description: 'billing is back: do not wait for the backoff',
		},
		{
			command: 'yaoki outbox retry 019a8f0e-7b4c-7d31-9a52-0c8f1e6b2d77',
			description: 'this one, also if it was never tried',
		},
	],
	options: {
		...DATABASE_OPTIONS,
		...QUEUE_FILTER_OPTIONS,
		all: { type: 'boolean', description: 'all that wait for a retry' },
	},
	positionals: {
		ids: {
			placeholder: 'ID',
			description: 'the ids of messages; by its id also one that was never tried and waits for its notBefore',
			optional: true,
			multiple: true,
		},
	},
	async run(asked, io) {
		const filter = filterOf(asked, io.runtime.wallNow())
		if (isEmpty(filter) !== asked.all)
			throw new CliError('usage', asked.all ? '--all stands alone' : 'takes ids, a filter, or --all')
		const { withOutbox } = await import('./open.ts')
		const { checkChosen } = await import('./chosen.ts')
		return withOutbox(asked, io, async ({ outbox }) => {
			await checkChosen(outbox, asked.ids, 'pending')
			const due = await outbox.retry(filter)
			io.result({ due }, dueText(due, asked.ids.length > 0))
			return 'ok' as const
		})
	},
})

function dueText(due: number, isById: boolean): string {
	if (due > 0) return `${formatNumber(due)} ${due === 1 ? 'message is' : 'messages are'} due now`
	return isById ? 'none of these waits: they are due already' : 'no message that matches waits for a retry'
}
