/** `yaoki outbox list`: what is in the queue, and the dead. */
import { type Command, defineCommand } from '../command.ts'
import { CliError } from '../errors.ts'
import { FILTER_OPTIONS, filterOf, STATUSES } from './filter-options.ts'
import { DATABASE_OPTIONS } from './target.ts'

export const command: Command = defineCommand({
	examples: [
		{ command: 'yaoki outbox list --status dead --since 2h', description: 'what died in the last two hours' },
		{
			command: 'yaoki outbox list --groups',
			description: 'dead letters by cause, the greatest groups first',
		},
		{ command: 'yaoki outbox list --key order-17 --json', description: 'all about one order, for a program' },
	],
	options: {
		...DATABASE_OPTIONS,
		status: {
			type: 'string',
			placeholder: 'STATUS',
			description: 'only those; without it the queue and the dead',
			choices: STATUSES,
		},
		...FILTER_OPTIONS,
		groups: {
			type: 'boolean',
			short: 'g',
			description: 'groups dead letters by cause, destination and failure',
		},
		limit: {
			type: 'integer',
			short: 'n',
			placeholder: 'N',
			description: 'at most so many',
			default: 100,
			min: 1,
			max: 10_000,
		},
		after: { type: 'string', placeholder: 'ID', description: 'goes on after this message' },
	},
	positionals: {},
	async run(asked, io) {
		const { groups, limit, after, status } = asked
		const filter = filterOf(asked, io.runtime.wallNow())
		if (groups && status !== undefined && status !== 'dead')
			throw new CliError('usage', `--groups is for dead letters; got --status ${status}`)
		if (groups && after !== undefined)
			throw new CliError('usage', '--after goes with a list, not with --groups')
		const { withOutbox } = await import('./open.ts')
		const { groupsText, listText } = await import('./list-text.ts')
		return withOutbox(asked, io, async ({ outbox }) => {
			if (groups) {
				const found = await outbox.dead.groups(filter, { limit })
				io.result(found, () => groupsText(found, io))
			} else {
				const found = await outbox.list(filter, { limit, after })
				io.result(found, () => listText(found, io))
				if (found.length === limit)
					io.note(`There may be more: --after ${found.at(-1)?.id}, or a greater --limit.`)
			}
			return 'ok' as const
		})
	},
})
