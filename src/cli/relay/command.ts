/** `yaoki relay` and its options. Its implementation is loaded when it runs. */
import { type Command, defineCommand } from '../command.ts'
import { type Arguments, flag, integer, text } from '../option-tables.ts'
import { DATABASE_OPTIONS } from '../outbox/database-target.ts'

const RELAY_OPTIONS = {
	...DATABASE_OPTIONS,
	to: text('URL', 'URL to post every message to; required'),
	destination: text('NAME', 'send only the messages of this destination; default all', { multiple: true }),
	header: text("'NAME: VALUE'", 'header of every request', { short: 'H', multiple: true }),
	concurrency: integer('N', 'maximum number of messages in flight per destination', {
		...{ short: 'c', min: 1, max: 10_000, default: 16 },
	}),
	timeout: text('30s', 'timeout of a request', { default: '30s' }),
	lease: text('60s', 'time without a heartbeat after which other relays take over its messages', {
		default: '60s',
	}),
	keepHistory: flag('keep sent messages as history'),
}

export type RelayArguments = Arguments<typeof RELAY_OPTIONS>

export const relay: Command = defineCommand({
	examples: [
		[
			'yaoki relay --database postgres://localhost/shop --to https://hooks.internal/events',
			'Ctrl-C and SIGTERM let it finish messages in flight',
		],
		[
			"yaoki relay --to http://localhost:8080 --destination billing --header 'Authorization: Bearer x'",
			'only one destination, with a header',
		],
	],
	options: RELAY_OPTIONS,
	positionals: {},
	async run(args, io) {
		const { runRelay } = await import('./run-relay.ts')
		return runRelay(args, io)
	},
})
