/**
 * Claims due messages, target by target, in two statements: one reads them in index order, one marks them.
 * `UPDATE ... RETURNING` would be one statement, but it copies every payload first and guarantees no order,
 * so the rows would need sorting; a rough measurement showed no gain. Nothing can happen between the two,
 * because the transaction holds the write lock.
 *
 * Indexes are named with INDEXED BY: table statistics of a queue are misleading, and ANALYZE on an empty or
 * overfull table would make claims slow.
 */
import type { SqliteConnection, SqlRow } from '../../../sql/sqlite-connection.ts'
import { admitsClaim, toCircuit } from '../decisions/circuit.ts'
import { type CrashFilter, crashFilterOf } from '../decisions/poison.ts'
import type { ClaimedRow, ClaimRequest, ClaimTarget, DestinationCircuit } from '../rows.ts'
import { timeAfter } from '../stored-values.ts'
import { readCircuit } from './circuits.ts'
import type { Operations } from './executor.ts'
import { isRange } from './settle.ts'

const COLUMNS = `q.seq, q.key, q.id, q.topic, q.payload, q.headers, q.max_retries, q.created_at, q.due_at, q.expires_at, q.attempts,
	q.delay_ms, q.crashes, q.locked_by IS NOT NULL`

/** The parameters of all claims: ?1 destination, ?2 now, ?3 limit, ?4 crashes of a poison candidate, ?5 `since` or the keys. */
const FREE = 'q.due_at <= ?2 AND (q.lease_until IS NULL OR q.lease_until <= ?2)'
const CRASHES = 'q.crashes + (q.locked_by IS NOT NULL)'
const IN_ORDER = 'ORDER BY q.due_at, q.seq LIMIT ?3'

/** How many later messages of a key, apart from replayed ones, are checked for one in flight. */
const LOOK_AHEAD = 32

/**
 * No dead letter blocks the key of the message, and no later message of the key is in flight. Only a replayed
 * message (not `in_order`) can be before one that is in flight. Any number of the later messages may have been
 * replayed too, so their own index finds the one in flight. Among the other later messages, only the first ones
 * can be in flight, because a key is claimed from its start.
 */
const IS_UNBLOCKED = `NOT EXISTS (SELECT 1 FROM yaoki_outbox_dead d
		WHERE d.destination = q.destination AND d.key = q.key AND d.blocks = 1 AND d.seq < q.seq)
	AND (q.in_order = 1 OR NOT EXISTS (SELECT 1 FROM yaoki_outbox f INDEXED BY yaoki_outbox_replayed
		WHERE f.destination = q.destination AND f.key = q.key AND f.in_order = 0 AND f.seq > q.seq AND f.lease_until > ?2)
	AND NOT EXISTS (SELECT 1 FROM (SELECT f.lease_until FROM yaoki_outbox f INDEXED BY yaoki_outbox_key
		WHERE f.destination = q.destination AND f.key = q.key AND f.seq > q.seq AND f.in_order = 1 ORDER BY f.seq LIMIT ${LOOK_AHEAD})
		WHERE lease_until > ?2))`
/** The message has no key, or is the first one of its key that is queued. */
export const IS_HEAD: string = `(q.key IS NULL OR (${IS_UNBLOCKED} AND NOT EXISTS (SELECT 1 FROM yaoki_outbox e INDEXED BY yaoki_outbox_key
		WHERE e.destination = q.destination AND e.key = q.key AND e.seq < q.seq)))`

/** ?4 counts a crash that the claim discovers: the row is still locked although its lease has ended. */
export const HAS_CRASHES: Readonly<Record<CrashFilter, string>> = {
	'few crashes': `${CRASHES} < ?4`,
	'many crashes': `${CRASHES} >= ?4`,
	'recorded crashes': `${CRASHES} >= ?4 AND q.crashes > 0`,
}

const unorderedSql = (crashes: CrashFilter): string => `SELECT ${COLUMNS} FROM yaoki_outbox q
	INDEXED BY ${crashes === 'recorded crashes' ? 'yaoki_outbox_crashed' : 'yaoki_outbox_due'}
	WHERE q.destination = ?1 AND q.due_at >= ?5 AND ${FREE} AND ${HAS_CRASHES[crashes]}`

const keysSql = (
	crashes: CrashFilter,
): string => `SELECT ${COLUMNS} FROM (SELECT DISTINCT value FROM json_each(?5)) k
	CROSS JOIN yaoki_outbox q ON q.seq = (SELECT min(f.seq) FROM yaoki_outbox f INDEXED BY yaoki_outbox_key
		WHERE f.destination = ?1 AND f.key = k.value)
	WHERE ${FREE} AND ${HAS_CRASHES[crashes]} AND ${IS_UNBLOCKED} ${IN_ORDER}`

/** The messages of the key ?6 after the sequence number ?5. The last column says whether each can be claimed. */
const FOLLOWERS = `SELECT ${COLUMNS}, ${FREE} AND ${HAS_CRASHES['few crashes']} AND ${IS_UNBLOCKED}
	FROM yaoki_outbox q INDEXED BY yaoki_outbox_key
	WHERE q.destination = ?1 AND q.key = ?6 AND q.seq > ?5 ORDER BY q.seq LIMIT ?3`

type ClaimTexts = Readonly<Record<'unordered' | 'ordered' | 'keys', string>>

const textsFor = (crashes: CrashFilter): ClaimTexts => ({
	unordered: `${unorderedSql(crashes)} ${IN_ORDER}`,
	ordered: `${unorderedSql(crashes)} AND ${IS_HEAD} ${IN_ORDER}`,
	keys: keysSql(crashes),
})

export const CLAIM_TEXTS: Readonly<Record<CrashFilter, ClaimTexts>> = {
	'few crashes': textsFor('few crashes'),
	'many crashes': textsFor('many crashes'),
	'recorded crashes': textsFor('recorded crashes'),
}

/** A row that is still locked was held by a process that died; its attempt was the latest. */
const COUNT_CRASHES = `UPDATE yaoki_outbox SET crashes = crashes + 1, last_attempt_at = locked_at
	WHERE seq IN (SELECT value FROM json_each(?))`
const MARK = 'UPDATE yaoki_outbox SET attempts = attempts + 1, locked_by = ?, locked_at = ?, lease_until = ?'
const MARK_RANGE = `${MARK} WHERE seq BETWEEN ? AND ?`
export const MARK_LIST: string = `${MARK} WHERE seq IN (SELECT value FROM json_each(?))`

function claimTarget(
	connection: SqliteConnection,
	request: ClaimRequest,
	{ destination, limit, since, isOrdered, keys, perKey = 1 }: ClaimTarget,
	now: number,
	into: ClaimedRow[],
): void {
	const { owner, leaseMs, poisonAfter } = request
	const byKeys = isOrdered ? keys : undefined
	const text = CLAIM_TEXTS[crashFilterOf(request)][byKeys ? 'keys' : isOrdered ? 'ordered' : 'unordered']
	const which = byKeys ? JSON.stringify(byKeys) : since
	const first = connection.rows(text, destination, now, limit, poisonAfter, which)
	if (first.length === 0) return
	const followers = (head: SqlRow, max: number): readonly SqlRow[] =>
		followersOf(
			connection.rows(FOLLOWERS, destination, now, max, poisonAfter, head[0] ?? null, head[1] ?? null),
		)
	const found = byKeys && perKey > 1 ? withFollowers(first, limit, perKey, followers) : first
	const seqs: number[] = []
	const crashed: number[] = []
	for (const row of found) {
		const claimed = toClaimedRow(row, destination, now)
		seqs.push(claimed.sequence)
		if (row[13] === 1) crashed.push(claimed.sequence)
		into.push(claimed)
	}
	if (crashed.length > 0) connection.run(COUNT_CRASHES, `[${crashed.join()}]`)
	const mark = [owner, now, timeAfter(now, leaseMs)]
	const [from = 0] = seqs
	if (isRange(seqs)) connection.run(MARK_RANGE, ...mark, from, from + seqs.length - 1)
	else connection.run(MARK_LIST, ...mark, `[${seqs.join()}]`)
}

/** Returns the first message of each key and the messages that follow it, up to `limit` in all. */
function withFollowers(
	first: readonly SqlRow[],
	limit: number,
	perKey: number,
	followers: (head: SqlRow, max: number) => readonly SqlRow[],
): readonly SqlRow[] {
	let left = limit - first.length
	return first.flatMap((head) => {
		const run = left > 0 ? followers(head, Math.min(perKey - 1, left)) : []
		left -= run.length
		return [head, ...run]
	})
}

/** Returns the rows before the first one that cannot be claimed. */
function followersOf(rows: readonly SqlRow[]): readonly SqlRow[] {
	const end = rows.findIndex((row) => row.at(-1) !== 1)
	return end === -1 ? rows : rows.slice(0, end)
}

const toClaimedRow = (row: SqlRow, destination: string, claimedAt: number): ClaimedRow => ({
	id: row[2] as string,
	sequence: row[0] as number,
	destination,
	topic: row[3] as string,
	key: row[1] as string | null,
	payload: row[4] as string,
	headers: row[5] as string | null,
	attempt: (row[10] as number) + 1,
	claimedAt,
	maxRetries: row[6] as number | null,
	delayMs: row[11] as number | null,
	crashes: (row[12] as number) + (row[13] as number),
	createdAt: row[7] as number,
	dueAt: row[8] as number,
	expiresAt: row[9] as number | null,
})

export const claimOperations = (connection: SqliteConnection): Operations<'claim'> => ({
	claim(request) {
		const now = connection.now()
		const rows: ClaimedRow[] = []
		const circuits = new Map<string, DestinationCircuit>()
		for (const target of request.targets) {
			const { destination, limit, isProbe } = target
			const circuit = readCircuit(connection, destination)
			if (circuit) circuits.set(destination, toCircuit(destination, circuit, now))
			const mayClaim = !circuit || admitsClaim(circuit, isProbe, now)
			if (limit > 0 && mayClaim) claimTarget(connection, request, target, now, rows)
		}
		return { now, rows, circuits: [...circuits.values()] }
	},
})
