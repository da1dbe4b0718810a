/** The options of `yaoki relay`. Its implementation is loaded when it runs. */
import { type Command, defineCommand } from '../command.ts'
import { DATABASE_OPTIONS } from '../outbox/database-target.ts'

export const relay: Command = defineCommand({
	examples: [
		{
			command: 'yaoki relay --database postgres://localhost/shop --to https://hooks.internal/events',
			description: 'Ctrl-C and SIGTERM let it finish messages in flight',
		},
		{
			command:
				"yaoki relay --to http://localhost:8080 --destination billing --header 'Authorization: Bearer x'",
			description: 'only one destination, with a header',
		},
	],
	options: {
		...DATABASE_OPTIONS,
		to: { type: 'string', placeholder: 'URL', description: 'URL to post every message to; required' },
		destination: {
			type: 'string',
			placeholder: 'NAME',
			multiple: true,
			description: 'send only the messages of this destination; default all',
		},
		header: {
			type: 'string',
			short: 'H',
			placeholder: "'NAME: VALUE'",
			multiple: true,
			description: 'header of every request',
		},
		concurrency: {
			type: 'integer',
			short: 'c',
			placeholder: 'N',
			min: 1,
			max: 10_000,
			default: 16,
			description: 'maximum number of messages in flight per destination',
		},
		timeout: {
			type: 'string',
			placeholder: '30s',
			default: '30s',
			description: 'timeout of a request',
		},
		lease: {
			type: 'string',
			placeholder: '60s',
			default: '60s',
			description: 'time without a heartbeat after which other relays take over its messages',
		},
		keepHistory: { type: 'boolean', description: 'keep sent messages as history' },
	},
	positionals: {},
	async run(args, io) {
		const { runRelay } = await import('./run-relay.ts')
		return runRelay(args, io)
	},
})
