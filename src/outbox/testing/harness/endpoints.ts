/** The steps of cases about endpoints of webhooks. */
import assert from 'node:assert/strict'
import type {
	EndpointRow,
	EndpointRowChange,
	EndpointRowFilter,
	EndpointStore,
	EventRow,
	NewEndpointRow,
} from '../../store/endpoint-store.ts'
import type { AuditRow } from '../../store/rows.ts'
import type { OutboxStore } from '../../store/store.ts'
import { assertFields, HOUR, idsOf, required } from './assertions.ts'
import { MANY, OPERATOR, type StoreHarness } from './harness.ts'

export const endpointsOf = (store: OutboxStore): EndpointStore =>
	required(store.endpoints, 'the property `endpoints` of the store')

/** Ids of endpoints and events. */
type Ids = readonly (string | undefined)[]

export class EndpointHarness {
	readonly t: StoreHarness
	readonly store: EndpointStore

	constructor(t: StoreHarness) {
		this.t = t
		this.store = endpointsOf(t.store)
	}

	row(part: Partial<NewEndpointRow> = {}): NewEndpointRow {
		return {
			id: this.t.id(),
			tenant: 'acme',
			url: 'https://example.com/hooks',
			topics: ['order.created'],
			description: null,
			secrets: '["whsec_1"]',
			...part,
		}
	}

	insert(part?: Partial<NewEndpointRow>): Promise<EndpointRow> {
		return this.store.insert(this.row(part), OPERATOR)
	}

	/** Inserts endpoints, and returns their ids. */
	async add(...parts: readonly Partial<NewEndpointRow>[]): Promise<string[]> {
		const ids: string[] = []
		for (const part of parts) ids.push((await this.insert(part)).id)
		return ids
	}

	async addOne(part: Partial<NewEndpointRow> = {}): Promise<string> {
		return (await this.insert(part)).id
	}

	async find(id: string): Promise<EndpointRow> {
		return required(await this.store.find(id), `endpoint ${id}`)
	}

	change(
		id: string,
		change: Omit<EndpointRowChange, 'action'> & Partial<EndpointRowChange>,
	): Promise<EndpointRow | undefined> {
		return this.store.change(id, { action: 'change-endpoint', ...change }, OPERATOR)
	}

	disable(
		id: string,
		disabledReason: EndpointRow['disabledReason'] = 'operator',
	): Promise<EndpointRow | undefined> {
		return this.change(id, { action: 'disable-endpoint', disabledReason })
	}

	enable(id: string): Promise<EndpointRow | undefined> {
		return this.change(id, { action: 'enable-endpoint', disabledReason: null })
	}

	async expectEndpoint(id: string, expected: Partial<EndpointRow>): Promise<void> {
		assertFields(await this.find(id), expected)
	}

	async expectList(filter: EndpointRowFilter, ids: Ids): Promise<void> {
		assert.deepEqual(idsOf(await this.store.list(filter, MANY)), ids, JSON.stringify(filter))
	}

	/** Asserts the ids in any order, each once. */
	async expectMatching(topics: string | readonly string[], ids: Ids, tenant = 'acme'): Promise<void> {
		const matching = await this.store.matching(tenant, [topics].flat())
		assert.deepEqual(matching.toSorted(), ids.toSorted(), `${tenant} ${topics}`)
	}

	event(part: Partial<EventRow> = {}): EventRow {
		return {
			id: this.t.id(),
			tenant: 'acme',
			topic: 'order.created',
			key: null,
			payload: '{"n":1}',
			headers: null,
			keepForMs: 9 * HOUR,
			...part,
		}
	}

	/** Stores events, and returns their ids. */
	async addEvents(...parts: readonly Partial<EventRow>[]): Promise<string[]> {
		const events = parts.map((part) => this.event(part))
		for (const event of events) await this.store.insertEvent(event)
		return idsOf(events)
	}

	async addEvent(part: Partial<EventRow> = {}): Promise<string> {
		return (await this.addEvents(part))[0] as string
	}

	async events(topics: string | readonly string[] = '*', since = 0, tenant = 'acme'): Promise<string[]> {
		return idsOf(await this.store.events({ tenant, topics: [topics].flat(), since }, MANY))
	}

	/** Returns the records about an endpoint, oldest first. */
	async audit(id: string): Promise<readonly AuditRow[]> {
		return (await this.t.store.audit({ destination: `webhook:${id}` }, MANY)).toReversed()
	}
}

export type EndpointCase = (e: EndpointHarness) => Promise<void>
