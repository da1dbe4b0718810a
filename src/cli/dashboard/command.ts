/** `yaoki dashboard`. Its implementation is loaded when it runs. */
import { type Command, defineCommand } from '../command.ts'
import { DASHBOARD_OPTIONS } from './options.ts'

export const dashboard: Command = defineCommand({
	examples: [
		['yaoki dashboard --database postgres://localhost/shop', 'prints the URL; Ctrl-C ends it'],
		['yaoki dashboard --database-file url.txt --read-only --port 0', 'to look at a production database'],
	],
	options: DASHBOARD_OPTIONS,
	async run(args, io) {
		const { runDashboard } = await import('./run-dashboard.ts')
		return runDashboard(args, io)
	},
})
