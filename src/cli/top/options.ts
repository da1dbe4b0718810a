/** The options of `yaoki top`. */
import { DATABASE_OPTIONS } from '../database/database-target.ts'
import { type Arguments, flag, number, text } from '../option-tables.ts'

export const TOP_OPTIONS = {
	...DATABASE_OPTIONS,
	header: text("'NAME: VALUE'", 'header of every request to the dashboard', { short: 'H', multiple: true }),
	headerFile: text('FILE', "file with a header per line: 'NAME: VALUE'"),
	seconds: number('N', 'time between two reads; default 2', { short: 's', min: 0.2, max: 3600 }),
	once: flag('print the figures once and end, as with --json'),
}

export const DASHBOARD_URL = {
	url: {
		placeholder: 'URL',
		description: 'page of a dashboard that a server has mounted; without it, a database is read',
		optional: true,
	},
} as const

export type TopArguments = Arguments<typeof TOP_OPTIONS, typeof DASHBOARD_URL>
