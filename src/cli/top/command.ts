/** `yaoki top`. Its implementation is loaded when it runs. */
import { type Command, defineCommand } from '../command.ts'
import { DASHBOARD_URL, TOP_OPTIONS } from './options.ts'

export const top: Command = defineCommand({
	examples: [
		['yaoki top http://127.0.0.1:3000/ops/retries', 'what fails in that process, and its outboxes; live'],
		[
			"yaoki top https://shop.example.com/ops --header 'authorization: Bearer ...'",
			'for a dashboard with authorize',
		],
		['yaoki top --database postgres://localhost/shop', 'what the database knows, without a server'],
		['yaoki top http://127.0.0.1:3000/ops/retries --json', 'once, for a program'],
	],
	options: TOP_OPTIONS,
	positionals: DASHBOARD_URL,
	async run(args, io) {
		const { runTop } = await import('./run-top.ts')
		return runTop(args, io)
	},
})
