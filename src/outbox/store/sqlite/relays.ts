/** Running relays and their permits. */
import type { SqliteConnection } from '../../../sql/sqlite-connection.ts'
import { grantPermits } from '../decisions/permits.ts'
import type { RelayReport } from '../rows.ts'
import { timeAfter } from '../stored-values.ts'
import type { Operations } from './executor.ts'

const DELETE_EXPIRED = 'DELETE FROM yaoki_outbox_permits WHERE destination = ? AND until <= ?'
const OTHERS = 'SELECT owner, wanted, permits FROM yaoki_outbox_permits WHERE destination = ? AND owner <> ?'
const SAVE_PERMITS = `INSERT INTO yaoki_outbox_permits (destination, owner, wanted, permits, until) VALUES (?, ?, ?, ?, ?)
	ON CONFLICT (destination, owner) DO UPDATE SET wanted = excluded.wanted, permits = excluded.permits, until = excluded.until`

const HEARTBEAT = `INSERT INTO yaoki_outbox_relays (id, started_at, seen_at, report) VALUES (?1, ?2, ?2, ?3)
	ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at, report = excluded.report`
const FORGET = 'DELETE FROM yaoki_outbox_relays WHERE seen_at < ?'
const FORGET_PERMITS = 'DELETE FROM yaoki_outbox_permits WHERE until < ?'
const ALL = 'SELECT report, started_at, seen_at FROM yaoki_outbox_relays ORDER BY started_at, id'
const REMOVE = 'DELETE FROM yaoki_outbox_relays WHERE id = ?'
const REMOVE_PERMITS = 'DELETE FROM yaoki_outbox_permits WHERE owner = ?'

export const relayOperations = (
	connection: SqliteConnection,
): Operations<'acquirePermits' | 'heartbeat' | 'removeRelay' | 'relays'> => ({
	acquirePermits(request) {
		const { destination, owner, wanted, leaseMs } = request
		const now = connection.now()
		connection.run(DELETE_EXPIRED, destination, now)
		const others = connection.rows(OTHERS, destination, owner).map(([name, theirs, permits]) => ({
			owner: String(name),
			wanted: Number(theirs),
			permits: Number(permits),
		}))
		const { granted, recorded } = grantPermits(request, others)
		connection.run(SAVE_PERMITS, destination, owner, wanted, recorded, timeAfter(now, leaseMs))
		return granted
	},
	heartbeat(report, forgetAfterMs) {
		const now = connection.now()
		connection.run(HEARTBEAT, report.id, now, JSON.stringify(report))
		connection.run(FORGET, now - forgetAfterMs)
		connection.run(FORGET_PERMITS, now - forgetAfterMs)
	},
	removeRelay(owner) {
		connection.run(REMOVE, owner)
		connection.run(REMOVE_PERMITS, owner)
	},
	relays: () =>
		connection.rows(ALL).map(([report, startedAt, seenAt]) => ({
			...(JSON.parse(String(report)) as RelayReport),
			startedAt: Number(startedAt),
			seenAt: Number(seenAt),
		})),
})
