/** `yaoki top`. Its implementation is loaded when it runs. */
import { type Command, defineCommand } from '../command.ts'
import { DATABASE_OPTIONS } from '../database/database-target.ts'
import { type Arguments, flag, number, text } from '../option-tables.ts'

const TOP_OPTIONS = {
	...DATABASE_OPTIONS,
	header: text("'NAME: VALUE'", 'header of every request to the dashboard', { short: 'H', multiple: true }),
	headerFile: text('FILE', "file with a header per line: 'NAME: VALUE'"),
	seconds: number('N', 'time between two reads', { short: 's', default: 2, min: 0.2, max: 3600 }),
	once: flag('print the figures once and end, as with --json'),
}

const DASHBOARD_URL = {
	url: {
		placeholder: 'URL',
		description: 'page of a dashboard that a server has mounted; without it, a database is read',
		optional: true,
	},
} as const

export type TopArguments = Arguments<typeof TOP_OPTIONS, typeof DASHBOARD_URL>

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
