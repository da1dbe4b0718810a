/** Which relays are alive, for people to see. */
import type { RelayReport, RelayRow } from '../rows.ts'
import type { Connection } from './connection.ts'

const BEAT = `INSERT INTO yaoki_outbox_relays (id, started_at, seen_at, report) VALUES (?1, ?2, ?2, ?3)
	ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at, report = excluded.report`
const FORGET = 'DELETE FROM yaoki_outbox_relays WHERE seen_at < ?'
const FORGET_PERMITS = 'DELETE FROM yaoki_outbox_permits WHERE until < ?'
const ALL = 'SELECT report, started_at, seen_at FROM yaoki_outbox_relays ORDER BY started_at, id'
const LEAVE = 'DELETE FROM yaoki_outbox_relays WHERE id = ?'
const LEAVE_PERMITS = 'DELETE FROM yaoki_outbox_permits WHERE owner = ?'

export function beat(connection: Connection, report: RelayReport, forgetAfterMs: number): void {
	const now = connection.now()
	connection.run(BEAT, report.id, now, JSON.stringify(report))
	connection.run(FORGET, now - forgetAfterMs)
	connection.run(FORGET_PERMITS, now - forgetAfterMs)
}

export function leave(connection: Connection, owner: string): void {
	connection.run(LEAVE, owner)
	connection.run(LEAVE_PERMITS, owner)
}

export const relays = (connection: Connection): readonly RelayRow[] =>
	connection.rows(ALL).map(([report, startedAt, seenAt]) => ({
		...(JSON.parse(String(report)) as RelayReport),
		startedAt: Number(startedAt),
		seenAt: Number(seenAt),
	}))
