/** `yaoki outbox replay`: dead letters get another chance. */
import { type Command, defineCommand } from '../command.ts'
import { CliError } from '../errors.ts'
import type { Arguments } from '../option-tables.ts'
import { FILTER_OPTIONS, filterOf, isEmpty } from './filter-options.ts'
import { DATABASE_OPTIONS } from './target.ts'

const OPTIONS = {
	...DATABASE_OPTIONS,
	...FILTER_OPTIONS,
	all: { type: 'boolean', description: 'every dead letter' },
	canary: {
		type: 'boolean',
		short: 'c',
		description: 'first 1, then 10, then the rest; stops when they fail as before',
	},
	timeout: {
		type: 'string',
		placeholder: '1m',
		description: 'with --canary: how long to wait for those',
		default: '1m',
	},
	payload: {
		type: 'string',
		placeholder: 'FILE|-',
		description: 'of one id: the JSON to send in the place of what it had',
	},
	expires: {
		type: 'string',
		placeholder: 'never|2h|DATE',
		description:
			'when they expire from now on; without it those whose time is over are left, with exit code 4',
	},
} as const

const POSITIONALS = {
	ids: { placeholder: 'ID', description: 'the ids of dead letters', optional: true, multiple: true },
} as const

export const command: Command = defineCommand({
	examples: [
		{ command: 'yaoki outbox replay --fingerprint 3f9a0c1d2e4b --canary', description: 'a group, carefully' },
		{
			command: 'yaoki outbox replay --destination billing --since 2h',
			description: 'what died there lately',
		},
		{
			command: 'yaoki outbox replay 019a8f0e-7b4c-7d31-9a52-0c8f1e6b2d77 --payload mended.json',
			description: 'one, with another payload',
		},
		{
			command: 'yaoki outbox replay --cause expired --expires 2h',
			description: 'what was too late gets two more hours',
		},
	],
	options: OPTIONS,
	positionals: POSITIONALS,
	async run(asked, io) {
		refuseWhatDoesNotFit(asked, isEmpty(filterOf(asked, io.runtime.wallNow())))
		const { runReplay } = await import('./run-replay.ts')
		return runReplay(asked, io)
	},
})

type Asked = Arguments<typeof OPTIONS, typeof POSITIONALS>

function refuseWhatDoesNotFit({ all, canary, payload, expires, ids }: Asked, isUnfiltered: boolean): void {
	const usage = (message: string) => new CliError('usage', message)
	if (payload !== undefined && (ids.length !== 1 || canary || all))
		throw usage('--payload goes with one ID, and neither with --all nor with --canary')
	if (canary && expires !== undefined)
		throw new CliError('usage', '--expires does not go with --canary', {
			hint: 'Replay one by its ID first, and then the others.',
		})
	if (isUnfiltered !== all) throw usage(all ? '--all stands alone' : 'takes ids, a filter, or --all')
}
