/** `yaoki outbox list`: what is in the queue, and the dead. */
import { type Command, defineCommand } from '../command.ts'
import { CliError } from '../errors.ts'
import { FILTER_OPTIONS, filterOf, STATUSES } from './filter-options.ts'
import { DATABASE_OPTIONS } from './target.ts'

export const command: Command = defineCommand({
	name: 'outbox list',
	summary: 'lists messages, or groups dead letters by what they died of',
	examples: [
		{ run: 'yaoki outbox list --status dead --since 2h', shows: 'what died in the last two hours' },
		{ run: 'yaoki outbox list --groups', shows: 'dead letters by cause, the greatest groups first' },
		{ run: 'yaoki outbox list --key order-17 --json', shows: 'all about one order, for a program' },
	],
	options: {
		...DATABASE_OPTIONS,
		status: {
			type: 'string',
			value: 'STATUS',
			does: 'only those; without it the queue and the dead',
			choices: STATUSES,
		},
		...FILTER_OPTIONS,
		groups: { type: 'boolean', short: 'g', does: 'groups dead letters by cause, destination and failure' },
		limit: {
			type: 'integer',
			short: 'n',
			value: 'N',
			does: 'at most so many',
			default: 100,
			least: 1,
			most: 10_000,
		},
		after: { type: 'string', value: 'ID', does: 'goes on after this message' },
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
				io.answer(found, () => groupsText(found, io))
			} else {
				const found = await outbox.list(filter, { limit, after })
				io.answer(found, () => listText(found, io))
				if (found.length === limit)
					io.note(`There may be more: --after ${found.at(-1)?.id}, or a greater --limit.`)
			}
			return 'ok' as const
		})
	},
})
