/** The options of a dashboard. */
import type { Observable } from '../core/observe/observation.ts'
import type { Runtime } from '../core/runtime/runtime.ts'
import type { RedactField } from '../telemetry/redact/redactor.ts'
import type { Access, Action } from './contract.ts'

/** Options of `dashboard`. `observe` is required; without `authorize` it serves loopback only. */
export interface DashboardOptions {
	/** What it shows: policies, clients, relays, outboxes, inboxes, webhooks and idempotency engines, by the names that people read. */
	readonly observe: Readonly<Record<string, Observable>>
	/**
	 * Returns what a request may do: `'all'`, `'read'`, or false for nothing. Asked for every request, also for every
	 * action. `native` is the request of the framework, such as Express's, with the user that a middleware has found.
	 * Default: everything for requests from this machine, and nothing for others.
	 */
	readonly authorize?:
		| ((request: Request, native: unknown) => Access | false | Promise<Access | false>)
		| undefined
	/** Returns who acts, for the audit. Default `'dashboard'`. */
	readonly actor?: ((request: Request, native: unknown) => string | Promise<string>) | undefined
	/** The path that the dashboard is mounted at, such as `'/ops/retries'`. Default: found in each request. */
	readonly basePath?: string | undefined
	/** Whether payloads and headers of messages are shown, after the outbox's `redact`. Default `'shown'`. */
	readonly payloads?: 'shown' | 'hidden' | undefined
	/** Returns what is shown of a text of an error. Secrets are hidden before, as in logs. */
	readonly redact?: RedactField | undefined
	/** How many failed calls are kept in memory, and as many that a policy rejected. Default 500. */
	readonly maxFailedCalls?: number | undefined
	/** Receives every action, in addition to the audit of the outbox: circuits have no database. */
	readonly onAction?: ((record: DashboardAction) => void) | undefined
	/** Clock, timers and randomness. Default: the system's. */
	readonly runtime?: Runtime | undefined
}

/** What a viewer did on the dashboard. `onAction` receives it. */
export interface DashboardAction {
	/** Milliseconds since 1970. */
	readonly at: number
	readonly by: string
	readonly action: Action
	/** Undefined if it was done, or if it has begun as a job, such as a replay; else the message of the error. */
	readonly error?: string
}
