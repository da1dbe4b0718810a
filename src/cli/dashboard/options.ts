/** The options of `yaoki dashboard`. */
import { DATABASE_OPTIONS } from '../database/database-target.ts'
import { type Arguments, flag, integer } from '../option-tables.ts'
import { REDACT_OPTION } from '../outbox/filter-options.ts'

export const DASHBOARD_OPTIONS = {
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
