/**
 * Endpoints of webhooks. `yaoki_webhook_subscriptions` has a row for each topic of each enabled endpoint, so that
 * an event finds its endpoints in one index. The write lock makes reading, deciding and writing one step.
 */
import type { RunStatement } from '../../../sql/sqlite-client.ts'
import type { SqliteConnection, SqlRow, SqlValue } from '../../../sql/sqlite-connection.ts'
import {
	applyEndpointChange,
	endpointChanges,
	endpointDestination,
	hasFailures,
	subscribedTopics,
} from '../decisions/endpoint.ts'
import type {
	EndpointDisabledReason,
	EndpointRow,
	EndpointRowFilter,
	EndpointStore,
} from '../endpoint-store.ts'
import type { EndpointAction, OperatorNote } from '../rows.ts'
import { AUDIT_CHANGE } from './dead-letters.ts'
import type { Synchronous } from './executor.ts'

const COLUMNS = {
	id: 'id',
	tenant: 'tenant',
	url: 'url',
	topics: 'topics',
	description: 'description',
	secrets: 'secrets',
	version: 'version',
	disabledReason: 'disabled_reason',
	disabledAt: 'disabled_at',
	failingSince: 'failing_since',
	failures: 'failures',
	createdAt: 'created_at',
} as const satisfies Record<keyof EndpointRow, string>

const NAMES = Object.keys(COLUMNS) as (keyof EndpointRow)[]
const LIST = Object.values(COLUMNS).join(', ')

const SELECT = `SELECT ${LIST} FROM yaoki_webhook_endpoints`
const FIND = `${SELECT} WHERE id = ?`

const INSERT = `INSERT INTO yaoki_webhook_endpoints (${LIST}) VALUES (${NAMES.map(() => '?').join(', ')})`
const UPDATE = `UPDATE yaoki_webhook_endpoints SET (${LIST}) = (${NAMES.map(() => '?').join(', ')}) WHERE id = ?`
const DELETE = 'DELETE FROM yaoki_webhook_endpoints WHERE id = ?'

/** ?1 tenant, ?2 topics, ?3 id. */
const SUBSCRIBE = `INSERT INTO yaoki_webhook_subscriptions (tenant, topic, endpoint_id)
	SELECT ?1, value, ?3 FROM json_each(?2)`
const UNSUBSCRIBE = `DELETE FROM yaoki_webhook_subscriptions
	WHERE tenant = ?1 AND topic IN (SELECT value FROM json_each(?2)) AND endpoint_id = ?3`

export const MATCHING = `SELECT DISTINCT endpoint_id FROM yaoki_webhook_subscriptions
	WHERE tenant = ?1 AND topic IN (SELECT value FROM json_each(?2)) ORDER BY endpoint_id`

const IS_FAILING = 'disabled_reason IS NULL AND failing_since IS NOT NULL'

const STATS = `SELECT count(*) FILTER (WHERE disabled_reason IS NULL), count(*) FILTER (WHERE disabled_reason = 'operator'),
		count(*) FILTER (WHERE disabled_reason = 'failing'), count(*) FILTER (WHERE disabled_reason = 'gone'),
		count(*) FILTER (WHERE ${IS_FAILING}), min(failing_since) FILTER (WHERE ${IS_FAILING})
	FROM yaoki_webhook_endpoints`

const toValue = (value: EndpointRow[keyof EndpointRow]): SqlValue =>
	typeof value === 'object' && value !== null ? JSON.stringify(value) : value

const valuesOf = (endpoint: EndpointRow): SqlValue[] => NAMES.map((name) => toValue(endpoint[name]))

const toEndpoint = (row: SqlRow): EndpointRow => {
	const columns: unknown = Object.fromEntries(NAMES.map((name, at) => [name, row[at]]))
	const { topics, ...fields } = columns as Omit<EndpointRow, 'topics'> & { readonly topics: string }
	return { ...fields, topics: JSON.parse(topics) }
}

function conditionsOf({ tenant, topic, isEnabled, isFailing }: EndpointRowFilter) {
	const conditions: string[] = []
	const params: SqlValue[] = []
	if (tenant !== undefined) conditions.push('tenant = ?')
	if (tenant !== undefined) params.push(tenant)
	if (topic !== undefined) conditions.push('EXISTS (SELECT 1 FROM json_each(topics) WHERE value = ?)')
	if (topic !== undefined) params.push(topic)
	if (isEnabled !== undefined) conditions.push(`disabled_reason IS ${isEnabled ? '' : 'NOT '}NULL`)
	if (isFailing) conditions.push(IS_FAILING)
	return { conditions, params }
}

/** Runs on either connection: the user's returns objects, the store's own arrays. */
export const matchingBy = (run: RunStatement, tenant: string, topics: readonly string[]): readonly string[] =>
	run(MATCHING, tenant, JSON.stringify(topics)).map((row) => String(Object.values(Object(row))[0]))

/** The operations of an endpoint that run in a transaction of the store. */
export function endpointOperations(
	connection: SqliteConnection,
): Synchronous<Omit<EndpointStore, 'matching' | 'insertEvent' | 'events' | 'dropEvents'>> {
	const find = (id: string): EndpointRow | undefined => {
		const row = connection.row(FIND, id)
		return row && toEndpoint(row)
	}
	const subscribe = (endpoint: EndpointRow): void => {
		connection.run(SUBSCRIBE, endpoint.tenant, JSON.stringify(subscribedTopics(endpoint)), endpoint.id)
	}
	const unsubscribe = (endpoint: EndpointRow): void => {
		connection.run(UNSUBSCRIBE, endpoint.tenant, JSON.stringify(subscribedTopics(endpoint)), endpoint.id)
	}
	const save = (before: EndpointRow, after: EndpointRow): EndpointRow => {
		connection.run(UPDATE, ...valuesOf(after), after.id)
		if (JSON.stringify(subscribedTopics(after)) !== JSON.stringify(subscribedTopics(before))) {
			unsubscribe(before)
			subscribe(after)
		}
		return after
	}
	const audit = (
		id: string,
		action: EndpointAction,
		{ by, reason }: OperatorNote,
		changes: string | null,
	): void => {
		connection.run(AUDIT_CHANGE, connection.now(), by, reason, action, changes, endpointDestination(id))
	}
	return {
		insert({ id, tenant, url, topics, description, secrets }, operator) {
			const given = { id, tenant, url, topics, description, secrets }
			const isNew = { disabledReason: null, disabledAt: null, failingSince: null, failures: 0 } as const
			const endpoint = { ...given, ...isNew, version: 1, createdAt: connection.now() }
			connection.run(INSERT, ...valuesOf(endpoint))
			subscribe(endpoint)
			audit(id, 'create-endpoint', operator, endpointChanges(endpoint))
			return endpoint
		},
		find,
		list(filter, limit, after) {
			const { conditions, params } = conditionsOf(filter)
			const sql = `${SELECT} WHERE ${['id > ?', ...conditions].join(' AND ')} ORDER BY id LIMIT ?`
			return connection.rows(sql, after ?? '', ...params, limit).map(toEndpoint)
		},
		change(id, change, operator) {
			const before = find(id)
			const after = before && applyEndpointChange(before, change, connection.now())
			if (before === undefined || after === undefined) return undefined
			audit(id, change.action, operator, endpointChanges(after, before))
			return save(before, after)
		},
		delete(id, operator) {
			const endpoint = find(id)
			if (endpoint === undefined) return false
			unsubscribe(endpoint)
			connection.run(DELETE, id)
			audit(id, 'delete-endpoint', operator, endpointChanges(endpoint))
			return true
		},
		recordFailure(id) {
			const before = find(id)
			if (before === undefined || before.disabledReason !== null) return before
			const failingSince = before.failingSince ?? connection.now()
			return save(before, { ...before, failures: before.failures + 1, failingSince })
		},
		recordSuccess(id) {
			const before = find(id)
			if (before === undefined || !hasFailures(before)) return undefined
			save(before, { ...before, failures: 0, failingSince: null, version: before.version + 1 })
			return before
		},
		stats() {
			const [enabled, operator, failing, gone, failingNow, failingSince] = connection.row(STATS) ?? []
			const disabled: Record<EndpointDisabledReason, number> = {
				operator: Number(operator),
				failing: Number(failing),
				gone: Number(gone),
			}
			return {
				enabled: Number(enabled),
				disabled,
				failing: Number(failingNow),
				failingSince: typeof failingSince === 'number' ? failingSince : null,
			}
		},
	}
}
