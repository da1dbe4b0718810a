/** What people do with dead letters and with those that wait. A copy is written before anything is taken away. */
import type { DeadLetterCause } from '../../message/message.ts'
import { counted } from '../figures.ts'
import type { CappedCount, DeadGroup, MessageEdit, StoreFilter } from '../store.ts'
import type { Connection, SqlValue } from './connection.ts'
import { conditionOf } from './filter.ts'
import { HISTORY_COLUMNS, MOVED_COLUMNS } from './tables.ts'

/** Is anything dead asked for at all? */
const meansDead = ({ status }: StoreFilter): boolean => status === undefined || status === 'dead'

export function deadGroups(connection: Connection, filter: StoreFilter, limit: number): readonly DeadGroup[] {
	if (!meansDead(filter)) return []
	const { sql, params } = conditionOf(filter, 'yaoki_outbox_dead', 0)
	const text = `SELECT g.fingerprint, g.cause, g.destination, d.error_type, d.error_message, g.count, g.first_at, g.last_at, d.id
		FROM (SELECT coalesce(error_fingerprint, '') AS fingerprint, cause, destination, count(*) AS count, min(died_at) AS first_at,
				max(died_at) AS last_at, min(seq) AS oldest
			FROM yaoki_outbox_dead WHERE ${sql} GROUP BY 1, 2, 3) g
		JOIN yaoki_outbox_dead d ON d.seq = g.oldest ORDER BY g.count DESC, g.oldest LIMIT ?`
	return connection.rows(text, ...params, limit).map((row) => ({
		fingerprint: row[0] as string,
		cause: row[1] as DeadLetterCause,
		destination: row[2] as string,
		errorType: row[3] as string | null,
		errorMessage: row[4] as string | null,
		count: row[5] as number,
		firstAt: row[6] as number,
		lastAt: row[7] as number,
		exampleId: row[8] as string,
	}))
}

export function countDead(connection: Connection, filter: StoreFilter, limit: number): CappedCount {
	if (!meansDead(filter)) return { count: 0, isCapped: false }
	const { sql, params } = conditionOf(filter, 'yaoki_outbox_dead', 0)
	const text = `SELECT count(*) FROM (SELECT 1 FROM yaoki_outbox_dead WHERE ${sql} LIMIT ?)`
	return counted(connection.number(text, ...params, limit + 1), limit)
}

interface Chosen {
	readonly ids: readonly string[]
	/** JSON. */
	readonly seqs: string
}

function chosenDead(connection: Connection, filter: StoreFilter, limit: number): Chosen {
	if (!meansDead(filter)) return { ids: [], seqs: '[]' }
	const { sql, params } = conditionOf(filter, 'yaoki_outbox_dead', 0)
	const text = `SELECT seq, id FROM yaoki_outbox_dead WHERE ${sql} ORDER BY seq LIMIT ?`
	return chosen(connection.rows(text, ...params, limit))
}

const chosen = (rows: readonly (readonly SqlValue[])[]): Chosen => ({
	ids: rows.map(([, id]) => String(id)),
	seqs: `[${rows.map(([seq]) => seq).join()}]`,
})

const ARE_CHOSEN = 'seq IN (SELECT value FROM json_each(?))'
const TAKE_OFF = `DELETE FROM yaoki_outbox_dead WHERE ${ARE_CHOSEN}`

/** What a replayed message has again as if it were new, in the place of what it had. */
const RENEWED: Readonly<Record<string, string>> = {
	due_at: '?',
	attempts: '0',
	crashes: '0',
	delay_ms: 'NULL',
}

const EDITED = {
	payload: 'payload',
	headers: 'headers',
	destination: 'destination',
	expiresAt: 'expires_at',
	maxRetries: 'max_retries',
} as const satisfies Record<keyof MessageEdit, string>

/** Its latest error is forgotten as well: what it has afterwards is what went wrong after the replay. */
export function replay(
	connection: Connection,
	filter: StoreFilter,
	limit: number,
	edit: MessageEdit = {},
): readonly string[] {
	const { ids, seqs } = chosenDead(connection, filter, limit)
	if (ids.length === 0) return ids
	const values = new Map<string, SqlValue>([['due_at', connection.now()]])
	for (const [name, column] of Object.entries(EDITED)) {
		const value = edit[name as keyof MessageEdit]
		if (value !== undefined) values.set(column, value)
	}
	const columns = MOVED_COLUMNS.split(', ')
	const params = columns.flatMap((column) => values.get(column) ?? (values.has(column) ? [null] : []))
	const sources = columns.map((column) => (values.has(column) ? '?' : (RENEWED[column] ?? column)))
	connection.run(
		`INSERT INTO yaoki_outbox (${MOVED_COLUMNS}) SELECT ${sources.join(', ')} FROM yaoki_outbox_dead WHERE ${ARE_CHOSEN}`,
		...params,
		seqs,
	)
	connection.run(TAKE_OFF, seqs)
	return ids
}

const KEEP = `INSERT INTO yaoki_outbox_history (${HISTORY_COLUMNS}, last_attempt_at, ended_at, cause)
	SELECT ${HISTORY_COLUMNS}, last_attempt_at, ?, cause FROM yaoki_outbox_dead WHERE ${ARE_CHOSEN}`

export function discard(
	connection: Connection,
	filter: StoreFilter,
	limit: number,
	keepHistory: boolean,
): readonly string[] {
	const { ids, seqs } = chosenDead(connection, filter, limit)
	if (ids.length === 0) return ids
	if (keepHistory) connection.run(KEEP, connection.now(), seqs)
	connection.run(TAKE_OFF, seqs)
	return ids
}

/** In flight they are left alone, and those that are due already have nothing to gain. */
export function retryNow(connection: Connection, filter: StoreFilter, limit: number): readonly string[] {
	const { status = 'pending' } = filter
	if (status !== 'pending') return []
	const now = connection.now()
	const { sql, params } = conditionOf({ ...filter, status }, 'yaoki_outbox', now)
	const hasFailed = filter.ids === undefined ? 'AND attempts > 0' : ''
	const text = `SELECT seq, id FROM yaoki_outbox WHERE ${sql} ${hasFailed} AND due_at > ? ORDER BY seq LIMIT ?`
	const { ids, seqs } = chosen(connection.rows(text, ...params, now, limit))
	if (ids.length > 0) connection.run(`UPDATE yaoki_outbox SET due_at = ? WHERE ${ARE_CHOSEN}`, now, seqs)
	return ids
}

const DROP = `DELETE FROM yaoki_outbox_history WHERE seq IN
	(SELECT seq FROM yaoki_outbox_history WHERE ended_at < ? ORDER BY ended_at LIMIT ?)`

export const dropHistory = (connection: Connection, olderThanMs: number, limit: number): number =>
	connection.run(DROP, connection.now() - olderThanMs, limit)
