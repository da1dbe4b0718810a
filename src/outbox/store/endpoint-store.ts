/**
 * What webhooks need of a store: endpoints, which endpoints get an event, and the events themselves for a later
 * replay. Plain data, as in `rows.ts`; secrets are a text whose meaning the store does not know. A store of your
 * own can leave this part out: then its outbox has no webhooks.
 */
import type { Queryable } from '../../sql/clients.ts'
import type { EndpointAction, OperatorNote } from './rows.ts'

/** Why an endpoint is disabled: by an operator, because it failed for too long, because it returned 410. */
export type EndpointDisabledReason = 'operator' | 'failing' | 'gone'

/** An endpoint to insert. For authors of stores: `EndpointStore.insert` gets it. All fields are validated. */
export interface NewEndpointRow {
	/** A UUID of version 7, in lower case. */
	readonly id: string
	/** `''` for an endpoint without a tenant. */
	readonly tenant: string
	readonly url: string
	/** Exact topics, beginnings such as `order.*`, or `*`. At least one, without duplicates. */
	readonly topics: readonly string[]
	readonly description: string | null
	/** JSON with the secrets, which may be encrypted. */
	readonly secrets: string
}

/** An endpoint. For authors of stores: `EndpointStore.find` and `EndpointStore.list` return it. */
export interface EndpointRow extends NewEndpointRow {
	/** Increases with every change, and with a success after failures. A counted failure leaves it. */
	readonly version: number
	/** Null if the endpoint is enabled. */
	readonly disabledReason: EndpointDisabledReason | null
	/** The time since when it is disabled, whatever changed meanwhile. Null if it is enabled. */
	readonly disabledAt: number | null
	/** The time of the first failed attempt since the last successful one. */
	readonly failingSince: number | null
	/** Failed attempts since the last successful one. */
	readonly failures: number
	readonly createdAt: number
}

/** Selects endpoints; all given fields must match. For authors of stores: `EndpointStore.list` gets it. */
export interface EndpointRowFilter {
	/** `''` selects endpoints without a tenant. */
	readonly tenant?: string | undefined
	/** Endpoints that have exactly this topic or pattern in their list. */
	readonly topic?: string | undefined
	readonly isEnabled?: boolean | undefined
	/** True: endpoints that are enabled and have failed since their last successful attempt. */
	readonly isFailing?: true | undefined
}

/** Changes of an endpoint; fields that are left out stay. For authors of stores: `EndpointStore.change` gets it. */
export interface EndpointRowChange {
	readonly action: EndpointAction
	readonly url?: string | undefined
	readonly topics?: readonly string[] | undefined
	readonly description?: string | null | undefined
	readonly secrets?: string | undefined
	/** Null enables it, and forgets its failures. */
	readonly disabledReason?: EndpointDisabledReason | null | undefined
	/** Applies only to this version of the endpoint. */
	readonly ifVersion?: number | undefined
}

/** Counts of endpoints. For authors of stores: `EndpointStore.stats` returns it. */
export interface EndpointCounts {
	readonly enabled: number
	readonly disabled: Readonly<Record<EndpointDisabledReason, number>>
	/** Enabled endpoints that have failed since their last successful attempt. */
	readonly failing: number
	/** The earliest `failingSince` of these; null without one. */
	readonly failingSince: number | null
}

/** An event that can be replayed for an endpoint. For authors of stores: `EndpointStore.insertEvent` gets it. */
export interface EventRow {
	/** A UUID of version 7, in lower case. Ids increase with the time of the event. */
	readonly id: string
	readonly tenant: string
	readonly topic: string
	/** The key of its messages. */
	readonly key: string | null
	/** JSON. */
	readonly payload: string
	/** JSON: an object of strings. */
	readonly headers: string | null
	/** How long the event is kept, in milliseconds. Infinity: permanently. */
	readonly keepForMs: number
}

/** A stored event. For authors of stores: `EndpointStore.events` returns it. */
export interface StoredEventRow extends Omit<EventRow, 'keepForMs'> {
	readonly createdAt: number
}

/**
 * Endpoints of webhooks, and the events that they can get again. For authors of stores: `OutboxStore.endpoints`,
 * which `endpointStoreConformance` tests.
 */
export interface EndpointStore {
	/**
	 * Writes an audit record `create-endpoint` in the same transaction, with url, topics and description as
	 * `changes`. `createdAt` is the database's time.
	 */
	insert(row: NewEndpointRow, operator: OperatorNote): Promise<EndpointRow>
	find(id: string): Promise<EndpointRow | undefined>
	/** Lists endpoints by id, after the endpoint `after`. */
	list(filter: EndpointRowFilter, limit: number, after?: string): Promise<readonly EndpointRow[]>
	/**
	 * Changes an endpoint, and writes an audit record with its action in the same transaction, whose `destination` is
	 * `webhook:` and the id, and whose `changes` are those of url, topics and description that now have another value,
	 * as JSON; null without one, and never secrets. Returns the endpoint as it is now; undefined if it does not exist
	 * or has another version.
	 */
	change(id: string, change: EndpointRowChange, operator: OperatorNote): Promise<EndpointRow | undefined>
	/**
	 * Deletes an endpoint, and writes an audit record `delete-endpoint` with its last url, topics and description.
	 * Its messages stay. Returns false if it does not exist.
	 */
	delete(id: string, operator: OperatorNote): Promise<boolean>
	/**
	 * Returns the ids of the enabled endpoints of the tenant that have one of these topics in their list, each once.
	 * With `tx`, as that transaction sees them. A store that is synchronous returns the ids themselves with `tx`.
	 */
	matching(
		tenant: string,
		topics: readonly string[],
		tx?: Queryable,
	): readonly string[] | Promise<readonly string[]>
	/**
	 * Counts a failed attempt if the endpoint is enabled. Returns the endpoint as it is now; undefined if it does not
	 * exist.
	 */
	recordFailure(id: string): Promise<EndpointRow | undefined>
	/**
	 * Forgets the failures of an endpoint, and returns it as it was before. Returns undefined, and writes nothing, if it
	 * has none, so that it can follow every success. Of concurrent calls one returns the endpoint.
	 */
	recordSuccess(id: string): Promise<EndpointRow | undefined>
	stats(): Promise<EndpointCounts>
	/** Stores an event, in the transaction `tx` if there is one; within the call if the store is synchronous. */
	insertEvent(event: EventRow, tx?: Queryable): void | Promise<void>
	/**
	 * Lists the events of a tenant at `since` or later whose topic is one of `topics` or matches one of these
	 * patterns, by their time and id, after the event `after`, which may have been deleted meanwhile.
	 */
	events(
		filter: { readonly tenant: string; readonly topics: readonly string[]; readonly since: number },
		limit: number,
		after?: string,
	): Promise<readonly StoredEventRow[]>
	/** Deletes at most `limit` events that have been kept for their time, oldest first. Returns their number. */
	dropEvents(limit: number): Promise<number>
}
