/** Events of webhooks, which are kept so that endpoints can get them again. */
import type { RunStatement } from '../../../sql/sqlite-client.ts'
import type { SqliteConnection, SqlRow, SqlValue } from '../../../sql/sqlite-connection.ts'
import { splitTopics } from '../decisions/endpoint.ts'
import type { EndpointStore, EventRow, StoredEventRow } from '../endpoint-store.ts'
import { timeAfter } from '../stored-values.ts'
import type { Synchronous } from './executor.ts'

const COLUMNS = {
	id: 'id',
	tenant: 'tenant',
	topic: 'topic',
	key: 'key',
	payload: 'payload',
	headers: 'headers',
	createdAt: 'created_at',
} as const satisfies Record<keyof StoredEventRow, string>

const NAMES = Object.keys(COLUMNS) as (keyof StoredEventRow)[]
const LIST = Object.values(COLUMNS).join(', ')

const INSERT = `INSERT INTO yaoki_webhook_events (${LIST}, expires_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)`

const POSITION = 'SELECT created_at FROM yaoki_webhook_events WHERE id = ?'

/** ?2 exact topics, ?3 the beginnings of patterns, ?5 and ?6 the start. */
const select = (start: string): string => `SELECT ${LIST} FROM yaoki_webhook_events
	WHERE tenant = ?1 AND ${start}
		AND (topic IN (SELECT value FROM json_each(?2))
			OR EXISTS (SELECT 1 FROM json_each(?3) WHERE substr(topic, 1, length(value)) = value))
	ORDER BY created_at, id LIMIT ?4`

type Start = 'first' | 'next' | 'afterDeleted'

/** One lower bound each: with two, SQLite may start to read the index at the earlier one. */
export const SELECT_EVENTS: Readonly<Record<Start, string>> = {
	first: select('created_at >= ?5'),
	next: select('(created_at, id) > (?5, ?6)'),
	/** After an event that was deleted: its id remains. */
	afterDeleted: select('created_at >= ?5 AND id > ?6'),
}

const DROP = `DELETE FROM yaoki_webhook_events WHERE rowid IN
	(SELECT rowid FROM yaoki_webhook_events WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`

const toEvent = (row: SqlRow): StoredEventRow =>
	Object.fromEntries(NAMES.map((name, at) => [name, row[at]])) as unknown as StoredEventRow

/** Runs on either connection. */
export function insertEventBy(run: RunStatement, event: EventRow, now: number): void {
	const { id, tenant, topic, key, payload, headers, keepForMs } = event
	run(INSERT, id, tenant, topic, key, payload, headers, now, timeAfter(now, keepForMs))
}

export const eventOperations = (
	connection: SqliteConnection,
): Synchronous<Pick<EndpointStore, 'events' | 'dropEvents'>> => ({
	events({ tenant, topics, since }, limit, after) {
		const { exact, beginnings } = splitTopics(topics)
		const params = [tenant, JSON.stringify(exact), JSON.stringify(beginnings), limit]
		const rowsFrom = (how: Start, ...start: SqlValue[]) =>
			connection.rows(SELECT_EVENTS[how], ...params, ...start).map(toEvent)
		if (after === undefined) return rowsFrom('first', since)
		const position = connection.row(POSITION, after)?.[0]
		if (position === undefined) return rowsFrom('afterDeleted', since, after)
		return Number(position) >= since ? rowsFrom('next', position, after) : rowsFrom('first', since)
	},
	dropEvents: (limit) => connection.run(DROP, connection.now(), limit),
})
