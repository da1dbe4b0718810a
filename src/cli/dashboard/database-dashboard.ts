/** A dashboard of a database. It says that circuits and calls of programs are not part of it. */
import { createDashboard, type Dashboard } from '../../dashboard/dashboard.ts'
import { createLive } from '../../dashboard/live/live.ts'
import type { DashboardOptions } from '../../dashboard/options.ts'
import { createQueue } from '../../dashboard/queue/queue.ts'

export const databaseDashboard = (options: DashboardOptions): Dashboard =>
	createDashboard(options, { createLive, createQueue, isDatabaseOnly: true })
