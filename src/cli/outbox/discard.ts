/** `yaoki outbox discard`: takes dead letters away for good. The only command that loses something, so it does nothing unless it is told twice. */
import { formatNumber } from '../../text/format.ts'
import { type Command, defineCommand } from '../command.ts'
import { CliError } from '../errors.ts'
import { FILTER_OPTIONS, filterOf, isEmpty } from './filter-options.ts'
import { DATABASE_OPTIONS } from './target.ts'

export const command: Command = defineCommand({
	examples: [
		{ command: 'yaoki outbox discard --cause expired', description: 'how many that would be' },
		{ command: 'yaoki outbox discard --cause expired --yes', description: 'and away they are' },
	],
	options: {
		...DATABASE_OPTIONS,
		...FILTER_OPTIONS,
		all: { type: 'boolean', description: 'every dead letter' },
		yes: {
			type: 'boolean',
			short: 'y',
			description: 'does it; without it only their number is told, and the exit code is 2',
		},
		keepHistory: { type: 'boolean', description: 'moves them into the history instead' },
	},
	positionals: {
		ids: { placeholder: 'ID', description: 'the ids of dead letters', optional: true, multiple: true },
	},
	async run(asked, io) {
		const { ids, all, yes, keepHistory } = asked
		const filter = filterOf(asked, io.runtime.wallNow())
		if (isEmpty(filter) !== all)
			throw new CliError('usage', all ? '--all stands alone' : 'takes ids, a filter, or --all')
		const { withOutbox } = await import('./open.ts')
		const { checkChosen } = await import('./chosen.ts')
		return withOutbox(
			asked,
			io,
			async ({ outbox }) => {
				await checkChosen(outbox, ids, 'dead')
				if (!yes) {
					const { count, isCapped } = await outbox.dead.count(filter)
					const many = `${isCapped ? 'more than ' : ''}${formatNumber(count)}`
					throw new CliError(
						'usage',
						`this would discard ${many} dead ${count === 1 ? 'letter' : 'letters'}`,
						{
							hint: 'Add --yes to do it.',
						},
					)
				}
				const report = await outbox.dead.discard(filter, { all, signal: io.signal })
				const { discarded } = report
				io.result(
					report,
					`${formatNumber(discarded)} dead ${discarded === 1 ? 'letter was' : 'letters were'} discarded`,
				)
				return 'ok' as const
			},
			{ keepHistory },
		)
	},
})
