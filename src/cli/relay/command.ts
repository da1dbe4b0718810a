/** `yaoki relay`: what it takes. What it does is loaded when it is asked for. */
import { type Command, defineCommand } from '../command.ts'
import { DATABASE_OPTIONS } from '../outbox/target.ts'

const OPTIONS = {
	...DATABASE_OPTIONS,
	to: {
		type: 'string',
		placeholder: 'URL',
		description: 'where every message is sent by POST; must be given',
	},
	destination: {
		type: 'string',
		placeholder: 'NAME',
		multiple: true,
		description: 'sends only the messages of this destination; without it all',
	},
	header: {
		type: 'string',
		short: 'H',
		placeholder: "'NAME: VALUE'",
		multiple: true,
		description: 'a header of every request',
	},
	concurrency: {
		type: 'integer',
		short: 'c',
		placeholder: 'N',
		min: 1,
		max: 10_000,
		default: 16,
		description: 'how many are sent at a time to each destination',
	},
	timeout: { type: 'string', placeholder: '30s', default: '30s', description: 'how long an answer may take' },
	lease: {
		type: 'string',
		placeholder: '60s',
		default: '60s',
		description: 'after how long without a sign of life others take its messages over',
	},
	keepHistory: { type: 'boolean', description: 'keeps messages that were sent' },
} as const

export const command: Command = defineCommand({
	examples: [
		{
			command: 'yaoki relay --database postgres://localhost/shop --to https://hooks.internal/events',
			description: 'Ctrl-C and SIGTERM let it finish what is under way',
		},
		{
			command:
				"yaoki relay --to http://localhost:8080 --destination billing --header 'Authorization: Bearer x'",
			description: 'only one destination, with a header',
		},
	],
	options: OPTIONS,
	positionals: {},
	async run(asked, io) {
		const { runRelay } = await import('./run-relay.ts')
		return runRelay(asked, io)
	},
})
