/** `yaoki relay`: what it takes. What it does is loaded when it is asked for. */
import { type Command, defineCommand } from '../command.ts'
import { DATABASE_OPTIONS } from '../outbox/target.ts'

const OPTIONS = {
	...DATABASE_OPTIONS,
	to: { type: 'string', value: 'URL', does: 'where every message is sent by POST; must be given' },
	destination: {
		type: 'string',
		value: 'NAME',
		multiple: true,
		does: 'sends only the messages of this destination; without it all',
	},
	header: {
		type: 'string',
		short: 'H',
		value: "'NAME: VALUE'",
		multiple: true,
		does: 'a header of every request',
	},
	concurrency: {
		type: 'integer',
		short: 'c',
		value: 'N',
		least: 1,
		most: 10_000,
		default: 16,
		does: 'how many are sent at a time to each destination',
	},
	timeout: { type: 'string', value: '30s', default: '30s', does: 'how long an answer may take' },
	lease: {
		type: 'string',
		value: '60s',
		default: '60s',
		does: 'after how long without a sign of life others take its messages over',
	},
	keepHistory: { type: 'boolean', does: 'keeps messages that were sent' },
} as const

export const command: Command = defineCommand({
	name: 'relay',
	summary: 'sends the messages of an outbox to a URL, until it is stopped',
	examples: [
		{
			run: 'yaoki relay --database postgres://localhost/shop --to https://hooks.internal/events',
			shows: 'Ctrl-C and SIGTERM let it finish what is under way',
		},
		{
			run: "yaoki relay --to http://localhost:8080 --destination billing --header 'Authorization: Bearer x'",
			shows: 'only one destination, with a header',
		},
	],
	options: OPTIONS,
	positionals: {},
	async run(asked, io) {
		const { runRelay } = await import('./run-relay.ts')
		return runRelay(asked, io)
	},
})
