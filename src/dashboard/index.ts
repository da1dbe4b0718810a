/** A page that shows policies, clients and the outbox, and what to do about failures. */
export { type Dashboard, dashboard } from './dashboard.ts'
export type { DashboardAction, DashboardOptions } from './options.ts'
