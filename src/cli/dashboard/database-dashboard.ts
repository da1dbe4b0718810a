/** A dashboard of a database. It says that circuits and calls of programs are not part of it. */
import { createDashboard, type Dashboard } from '../../dashboard/dashboard.ts'
import { createLive } from '../../dashboard/live/live.ts'
import type { DashboardOptions } from '../../dashboard/options.ts'
import { createQueue } from '../../dashboard/queue/queue.ts'
import type { DatabaseTarget } from '../database/database-target.ts'

/** The commands that the page shows select the database of `target`, without a password. */
export const databaseDashboard = (
	{ flags }: Pick<DatabaseTarget, 'flags'>,
	options: DashboardOptions,
): Dashboard =>
	createDashboard(options, {
		createLive,
		createQueue: (things, settings) => createQueue(things, { ...settings, flags }),
		isDatabaseOnly: true,
	})
