/** `yaoki outbox replay`: dead letters get another chance. */
import { type Command, defineCommand } from '../command.ts'
import { CliError } from '../errors.ts'
import type { Arguments } from '../options.ts'
import { FILTER_OPTIONS, filterOf, isEmpty } from './filter-options.ts'
import { DATABASE_OPTIONS } from './target.ts'

const OPTIONS = {
	...DATABASE_OPTIONS,
	...FILTER_OPTIONS,
	all: { type: 'boolean', does: 'every dead letter' },
	canary: {
		type: 'boolean',
		short: 'c',
		does: 'first 1, then 10, then the rest; stops when they fail as before',
	},
	timeout: { type: 'string', value: '1m', does: 'with --canary: how long to wait for those', default: '1m' },
	payload: {
		type: 'string',
		value: 'FILE|-',
		does: 'of one id: the JSON to send in the place of what it had',
	},
	expires: {
		type: 'string',
		value: 'never|2h|DATE',
		does: 'when they expire from now on; without it those whose time is over are left, with exit code 4',
	},
} as const

const POSITIONALS = {
	ids: { value: 'ID', does: 'the ids of dead letters', optional: true, multiple: true },
} as const

export const command: Command = defineCommand({
	name: 'outbox replay',
	summary: 'puts dead letters back into the queue',
	examples: [
		{ run: 'yaoki outbox replay --fingerprint 3f9a0c1d2e4b --canary', shows: 'a group, carefully' },
		{ run: 'yaoki outbox replay --destination billing --since 2h', shows: 'what died there lately' },
		{
			run: 'yaoki outbox replay 019a8f0e-7b4c-7d31-9a52-0c8f1e6b2d77 --payload mended.json',
			shows: 'one, with another payload',
		},
		{
			run: 'yaoki outbox replay --cause expired --expires 2h',
			shows: 'what was too late gets two more hours',
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
