/** An endpoint of webhooks as users see it, without its secrets. */
import { destinationOf } from '../../webhooks/endpoint-names.ts'
import type { EndpointDisabledReason, EndpointRow } from '../store/endpoint-store.ts'

/** Where the events of some topics are sent: a URL of a customer, for example. `webhooks.endpoints` returns it. */
export interface WebhookEndpoint {
	/** A UUID. */
	readonly id: string
	/** The destination of its messages, in the outbox: `webhook:` and its id. */
	readonly destination: string
	/** Whose events it gets. Undefined: events without a tenant. */
	readonly tenant: string | undefined
	readonly url: string
	/** The topics that it gets: exact names, beginnings such as `order.*`, or `*`. */
	readonly topics: readonly string[]
	readonly description: string | undefined
	readonly isEnabled: boolean
	/** `operator`: disabled by `disable`; `failing`: it failed for too long; `gone`: it returned 410. */
	readonly disabledReason: EndpointDisabledReason | undefined
	readonly disabledAt: Date | undefined
	/** The time of the first failed attempt since the last successful one. */
	readonly failingSince: Date | undefined
	/** Failed attempts since the last successful one. */
	readonly failures: number
	readonly createdAt: Date
}

const toDate = (ms: number | null): Date | undefined => (ms === null ? undefined : new Date(ms))

export const toEndpoint = (row: EndpointRow): WebhookEndpoint => ({
	id: row.id,
	destination: destinationOf(row.id),
	tenant: row.tenant === '' ? undefined : row.tenant,
	url: row.url,
	topics: row.topics,
	description: row.description ?? undefined,
	isEnabled: row.disabledReason === null,
	disabledReason: row.disabledReason ?? undefined,
	disabledAt: toDate(row.disabledAt),
	failingSince: toDate(row.failingSince),
	failures: row.failures,
	createdAt: new Date(row.createdAt),
})
