/**
 * Takes messages that are due, lane by lane, in two statements: one that reads them in the order of their index, one that marks them.
 * `UPDATE ... RETURNING` would be one, but it sets every payload aside first and promises no order, so that the rows would have to be sorted; in
 * a rough measurement it was no quicker. Between the two nobody can come, for the write lock is ours.
 *
 * The indexes are named, for a queue's statistics are of no use: whoever ran ANALYZE on an empty or an overfull table would
 * have made claims slow.
 */
import type { ClaimedRow, ClaimRequest, ClaimResult, ClaimTarget, DestinationCircuit } from '../rows.ts'
import { after, type Connection, type SqlRow, type SqlValue } from './connection.ts'
import { gateOf } from './gates.ts'

const COLUMNS = `q.seq, q.locked_by, q.id, q.topic, q.key, q.payload, q.headers, q.attempts, q.max_retries, q.delay_ms, q.crashes,
	q.created_at, q.due_at, q.expires_at`

/** ?1 is the destination, ?2 now, ?3 the limit, ?4 how many crashes make a suspect, ?5 since when, or the keys. */
const FREE = 'q.due_at <= ?2 AND (q.lease_until IS NULL OR q.lease_until <= ?2)'
const CRASHES = 'q.crashes + (q.locked_by IS NOT NULL)'
const IN_ORDER = 'ORDER BY q.due_at, q.seq LIMIT ?3'

/** Nobody of the same key is before it in the queue, and no dead letter before it blocks the key. */
const IS_UNBLOCKED = `NOT EXISTS (SELECT 1 FROM yaoki_outbox_dead d
		WHERE d.destination = q.destination AND d.key = q.key AND d.blocks = 1 AND d.seq < q.seq)`
const IS_HEAD = `(q.key IS NULL OR (${IS_UNBLOCKED} AND NOT EXISTS (SELECT 1 FROM yaoki_outbox e INDEXED BY yaoki_outbox_key
		WHERE e.destination = q.destination AND e.key = q.key AND e.seq < q.seq)))`

type Who = 'trusted' | 'suspects' | 'crashed before'

const IS_WANTED: Readonly<Record<Who, string>> = {
	trusted: `${CRASHES} < ?4`,
	suspects: `${CRASHES} >= ?4`,
	'crashed before': `${CRASHES} >= ?4 AND q.crashes > 0`,
}

const plainLane = (who: Who): string => `SELECT ${COLUMNS} FROM yaoki_outbox q
	INDEXED BY ${who === 'crashed before' ? 'yaoki_outbox_crashed' : 'yaoki_outbox_due'}
	WHERE q.destination = ?1 AND q.due_at >= ?5 AND ${FREE} AND ${IS_WANTED[who]}`

const keysLane = (who: Who): string => `SELECT ${COLUMNS} FROM (SELECT DISTINCT value FROM json_each(?5)) k
	CROSS JOIN yaoki_outbox q ON q.seq = (SELECT min(f.seq) FROM yaoki_outbox f INDEXED BY yaoki_outbox_key
		WHERE f.destination = ?1 AND f.key = k.value)
	WHERE ${FREE} AND ${IS_WANTED[who]} AND ${IS_UNBLOCKED} ${IN_ORDER}`

type LaneTexts = Readonly<Record<'plain' | 'ordered' | 'keys', string>>

const textsFor = (who: Who): LaneTexts => ({
	plain: `${plainLane(who)} ${IN_ORDER}`,
	ordered: `${plainLane(who)} AND ${IS_HEAD} ${IN_ORDER}`,
	keys: keysLane(who),
})

export const CLAIM_TEXTS: Readonly<Record<Who, LaneTexts>> = {
	trusted: textsFor('trusted'),
	suspects: textsFor('suspects'),
	'crashed before': textsFor('crashed before'),
}

/** A process died with those that are locked still. Its attempt was the latest. */
const COUNT_CRASHES = `UPDATE yaoki_outbox SET crashes = crashes + 1, last_attempt_at = locked_at
	WHERE seq IN (SELECT value FROM json_each(?))`
const MARK = 'UPDATE yaoki_outbox SET attempts = attempts + 1, locked_by = ?, locked_at = ?, lease_until = ?'
const MARK_ROW = `${MARK} WHERE seq BETWEEN ? AND ?`
export const MARK_MANY: string = `${MARK} WHERE seq IN (SELECT value FROM json_each(?))`

export function claim(connection: Connection, request: ClaimRequest): ClaimResult {
	const now = connection.now()
	const rows: ClaimedRow[] = []
	const gates = new Map<string, DestinationCircuit>()
	for (const lane of request.targets) {
		const gate = gates.get(lane.destination) ?? gateOf(connection, lane.destination, now)
		if (gate) gates.set(lane.destination, gate)
		const isShut = gate !== undefined && (gate.state !== 'closed' || gate.pausedForMs > 0)
		if (lane.limit > 0 && (lane.isProbe || !isShut)) claimLane(connection, request, lane, now, rows)
	}
	return { now, rows, circuits: [...gates.values()] }
}

function claimLane(
	connection: Connection,
	request: ClaimRequest,
	lane: ClaimTarget,
	now: number,
	into: ClaimedRow[],
): void {
	const { destination, limit, since } = lane
	const { poisonAfter } = request
	// The partial index knows those that were found crashed before; with fewer than 2 some may be found only now.
	const who = !request.poisonCandidates ? 'trusted' : poisonAfter >= 2 ? 'crashed before' : 'suspects'
	const keys = lane.isOrdered ? lane.keys : undefined
	const text = CLAIM_TEXTS[who][keys ? 'keys' : lane.isOrdered ? 'ordered' : 'plain']
	const from = keys ? JSON.stringify(keys) : since
	const found = connection.rows(text, destination, now, limit, poisonAfter, from)
	if (found.length === 0) return
	const seqs: SqlValue[] = []
	const crashed: SqlValue[] = []
	for (const row of found) {
		const [seq = null, lockedBy] = row
		seqs.push(seq)
		if (lockedBy !== null) crashed.push(seq)
		into.push(claimedRow(row, destination, now))
	}
	if (crashed.length > 0) connection.run(COUNT_CRASHES, `[${crashed.join()}]`)
	const until = after(now, request.leaseMs)
	const [first = null] = seqs
	const last = seqs.at(-1) ?? null
	// Mostly they stand in a row, and then a range names just them, which spares a list that has to be written and read.
	const isRow = Number(last) - Number(first) === seqs.length - 1 && isRising(seqs)
	if (isRow) connection.run(MARK_ROW, request.owner, now, until, first, last)
	else connection.run(MARK_MANY, request.owner, now, until, `[${seqs.join()}]`)
}

const isRising = (seqs: readonly SqlValue[]): boolean =>
	seqs.every((seq, at) => at === 0 || Number(seq) > Number(seqs[at - 1]))

const claimedRow = (row: SqlRow, destination: string, claimedAt: number): ClaimedRow => ({
	id: row[2] as string,
	destination,
	topic: row[3] as string,
	key: row[4] as string | null,
	payload: row[5] as string,
	headers: row[6] as string | null,
	attempt: (row[7] as number) + 1,
	claimedAt,
	maxRetries: row[8] as number | null,
	delayMs: row[9] as number | null,
	crashes: (row[10] as number) + (row[1] === null ? 0 : 1),
	createdAt: row[11] as number,
	dueAt: row[12] as number,
	expiresAt: row[13] as number | null,
})
