/** `yaoki dashboard`. Its implementation is loaded when it runs. */
import { type Command, defineCommand } from '../command.ts'
import { DATABASE_OPTIONS } from '../database/database-target.ts'
import { type Arguments, flag, integer } from '../option-tables.ts'
import { REDACT_OPTION } from '../outbox/filter-options.ts'

const DASHBOARD_OPTIONS = {
	...DATABASE_OPTIONS,
	port: integer('N', 'port on 127.0.0.1; 0 selects a free one', {
		short: 'p',
		default: 7357,
		min: 0,
		max: 65_535,
	}),
	readOnly: flag('show everything, and change nothing'),
	noPayload: flag('leave out payload and headers'),
	...REDACT_OPTION,
}

export type DashboardArguments = Arguments<typeof DASHBOARD_OPTIONS>

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
