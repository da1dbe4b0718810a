/** `yaoki relay`. Its implementation is loaded when it runs. */
import { type Command, defineCommand } from '../command.ts'
import { RELAY_OPTIONS } from './options.ts'

export const relay: Command = defineCommand({
	examples: [
		[
			'yaoki relay --database postgres://localhost/shop --to https://hooks.internal/events',
			'Ctrl-C and SIGTERM let it finish messages in flight',
		],
		[
			'yaoki relay --to http://localhost:8080 --destination billing --header-file headers.txt',
			'only one destination, with headers that other users of the machine cannot read',
		],
	],
	options: RELAY_OPTIONS,
	async run(args, io) {
		const { runRelay } = await import('./run-relay.ts')
		return runRelay(args, io)
	},
})
