/**
 * Claims due messages, target by target, in two statements: one reads them in index order, one marks them. `UPDATE ... RETURNING` would be
 * one statement, but it copies every payload first and guarantees no order, so the rows would need sorting; a rough measurement showed no gain.
 * Nothing can happen between the two, because the transaction holds the write lock.
 *
 * Indexes are named with INDEXED BY: table statistics of a queue are misleading, and ANALYZE on an empty or overfull table would make claims slow.
 */
import type { SqliteConnection, SqlRow } from '../../../sql/sqlite-connection.ts'
import { admitsClaim, toCircuit } from '../decisions/circuit.ts'
import type { ClaimedRow, ClaimRequest, ClaimTarget, DestinationCircuit } from '../rows.ts'
import { MAX_SEARCHED } from '../search-limit.ts'
import { timeAfter } from '../time-after.ts'
import { readCircuit } from './circuits.ts'
import { claimsByAttempt, isRange, MATCH_CLAIMS } from './claim-match.ts'
import type { Operations } from './executor.ts'
import { spareAfterClaim } from './schema.ts'

/** What earlier attempts left; null before the first, because `node:sqlite` needs as long for a value that is null as for a number. */
const EARLIER = `CASE WHEN q.attempts = 0 AND q.locked_by IS NULL AND q.delay_ms IS NULL AND q.crashes = 0 THEN NULL
	ELSE json_array(q.attempts, q.delay_ms, q.crashes, q.locked_by IS NOT NULL) END`
const COLUMNS = `q.seq, q.key, ${EARLIER}, q.id, q.topic, q.payload, q.headers, q.max_retries, q.created_at, q.due_at, q.expires_at`

/** ?1 destination, ?2 now, ?3 limit, ?4 crashes of a poison candidate, ?5 `since` or the keys. */
const FREE = 'q.due_at <= ?2 AND (q.lease_until IS NULL OR q.lease_until <= ?2)'
const CRASHES = 'q.crashes + (q.locked_by IS NOT NULL)'
const IN_ORDER = 'ORDER BY q.due_at, q.seq LIMIT ?3'

/** Number of followers that were not replayed which are checked for one in flight. */
const LOOK_AHEAD = 32

/**
 * A replayed message (not `in_order`) has an earlier position than one that may be in flight, and waits for it. Any number may have been replayed, so the
 * index of replayed messages finds one of them that is in flight. Of the others the one in flight was the first of its key a moment ago.
 */
const IS_UNBLOCKED = `NOT EXISTS (SELECT 1 FROM yaoki_outbox_dead d
		WHERE d.destination = q.destination AND d.key = q.key AND d.blocks = 1 AND d.seq < q.seq)
	AND (q.in_order = 1 OR NOT EXISTS (SELECT 1 FROM yaoki_outbox f INDEXED BY yaoki_outbox_replayed
		WHERE f.destination = q.destination AND f.key = q.key AND f.in_order = 0 AND f.seq > q.seq AND f.lease_until > ?2)
	AND NOT EXISTS (SELECT 1 FROM (SELECT f.lease_until FROM yaoki_outbox f INDEXED BY yaoki_outbox_key
		WHERE f.destination = q.destination AND f.key = q.key AND f.seq > q.seq AND f.in_order = 1 ORDER BY f.seq LIMIT ${LOOK_AHEAD})
		WHERE lease_until > ?2))`
const IS_HEAD = `(q.key IS NULL OR (${IS_UNBLOCKED} AND NOT EXISTS (SELECT 1 FROM yaoki_outbox e INDEXED BY yaoki_outbox_key
		WHERE e.destination = q.destination AND e.key = q.key AND e.seq < q.seq)))`

type CrashFilter = 'few crashes' | 'many crashes' | 'recorded crashes'

const HAS_CRASHES: Readonly<Record<CrashFilter, string>> = {
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

/** The messages after ?5, the sequence number of the first one of the key ?6, and whether each can be claimed with it. */
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

/** Reads the first ?3 due messages, so that the cost is bounded. With all of them blocked and more behind them, there may be one: then 1 too. */
const claimableSql = (isOrdered: boolean): string => `SELECT EXISTS (
	SELECT 1 FROM (SELECT q.key, q.seq, q.in_order, q.destination, q.lease_until, q.crashes, q.locked_by
		FROM yaoki_outbox q INDEXED BY yaoki_outbox_due
		WHERE q.destination = ?1 AND q.due_at <= ?2 ORDER BY q.due_at, q.seq LIMIT ?3) q
	WHERE (q.lease_until IS NULL OR q.lease_until <= ?2) AND ${HAS_CRASHES['few crashes']}${isOrdered ? ` AND ${IS_HEAD}` : ''}
) OR (SELECT 1 FROM yaoki_outbox q INDEXED BY yaoki_outbox_due
	WHERE q.destination = ?1 AND q.due_at <= ?2 ORDER BY q.due_at, q.seq LIMIT 1 OFFSET ?3) IS NOT NULL`

const HAS_CLAIMABLE = { ordered: claimableSql(true), unordered: claimableSql(false) }

/** A row that is still locked was held by a process that died; its attempt was the latest. */
const COUNT_CRASHES = `UPDATE yaoki_outbox SET crashes = crashes + 1, last_attempt_at = locked_at
	WHERE seq IN (SELECT value FROM json_each(?))`
const MARK =
	'UPDATE yaoki_outbox SET attempts = attempts + 1, locked_by = ?, locked_at = ?, lease_until = ?, spare = ?'
const MARK_RANGE = `${MARK} WHERE seq BETWEEN ? AND ?`
export const MARK_LIST: string = `${MARK} WHERE seq IN (SELECT value FROM json_each(?))`

function claimTarget(
	connection: SqliteConnection,
	{ owner, leaseMs, poisonCandidates, poisonAfter }: ClaimRequest,
	{ destination, limit, since, isOrdered, keys, perKey = 1 }: ClaimTarget,
	now: number,
	into: ClaimedRow[],
): void {
	// The partial index contains rows with recorded crashes; below 2, a candidate may have its first crash discovered now.
	const crashes = !poisonCandidates ? 'few crashes' : poisonAfter >= 2 ? 'recorded crashes' : 'many crashes'
	const byKeys = isOrdered ? keys : undefined
	const text = CLAIM_TEXTS[crashes][byKeys ? 'keys' : isOrdered ? 'ordered' : 'unordered']
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
		const earlier = row[2] === null ? NO_ATTEMPTS : (JSON.parse(row[2] as string) as EarlierAttempts)
		const claimed = toClaimedRow(row, earlier, destination, now)
		seqs.push(claimed.sequence)
		if (earlier[3] === 1) crashed.push(claimed.sequence)
		into.push(claimed)
	}
	if (crashed.length > 0) connection.run(COUNT_CRASHES, `[${crashed.join()}]`)
	const claim = [owner, now, timeAfter(now, leaseMs), spareAfterClaim(owner)]
	const [from = 0] = seqs
	if (isRange(seqs)) connection.run(MARK_RANGE, ...claim, from, from + seqs.length - 1)
	else connection.run(MARK_LIST, ...claim, `[${seqs.join()}]`)
}

/** Returns the first messages of keys, each with those that follow it; the first ones fit the limit. */
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

/** Returns the rows before the first that cannot be claimed; the last column says which can. */
function followersOf(rows: readonly SqlRow[]): readonly SqlRow[] {
	const end = rows.findIndex((row) => row.at(-1) !== 1)
	return end === -1 ? rows : rows.slice(0, end)
}

type EarlierAttempts = readonly [attempts: number, delayMs: number | null, crashes: number, isLocked: 0 | 1]
const NO_ATTEMPTS: EarlierAttempts = [0, null, 0, 0]

const toClaimedRow = (
	row: SqlRow,
	[attempts, delayMs, crashes, isLocked]: EarlierAttempts,
	destination: string,
	claimedAt: number,
): ClaimedRow => ({
	id: row[3] as string,
	sequence: row[0] as number,
	destination,
	topic: row[4] as string,
	key: row[1] as string | null,
	payload: row[5] as string,
	headers: row[6] as string | null,
	attempt: attempts + 1,
	claimedAt,
	maxRetries: row[7] as number | null,
	delayMs,
	crashes: crashes + isLocked,
	createdAt: row[8] as number,
	dueAt: row[9] as number,
	expiresAt: row[10] as number | null,
})

const RENEW = `UPDATE yaoki_outbox SET lease_until = ?4 WHERE ${MATCH_CLAIMS}`
const STILL_HELD = `SELECT id FROM yaoki_outbox WHERE ${MATCH_CLAIMS}`

const CLAIMS_OF = `SELECT id, attempts, locked_at, seq FROM (
		SELECT id, attempts, locked_by, locked_at, lease_until, seq FROM yaoki_outbox INDEXED BY yaoki_outbox_due
		WHERE destination = ?1 AND due_at <= ?2 ORDER BY due_at, seq LIMIT ${MAX_SEARCHED}
	) WHERE locked_by = ?3 AND lease_until > ?2`

export const claimOperations = (
	connection: SqliteConnection,
): Operations<'claim' | 'renew' | 'claimsOf' | 'hasClaimable'> => ({
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
	renew(owner, leaseMs, claims) {
		const leaseUntil = timeAfter(connection.now(), leaseMs)
		const lost: string[] = []
		for (const { attempt, ids } of claimsByAttempt(claims)) {
			const json = JSON.stringify(ids)
			if (connection.run(RENEW, json, owner, attempt, leaseUntil) === ids.length) continue
			const held = new Set(connection.rows(STILL_HELD, json, owner, attempt).map(([id]) => id))
			for (const id of ids) if (!held.has(id)) lost.push(id)
		}
		return lost
	},
	hasClaimable: (destination, isOrdered, poisonAfter) =>
		connection.number(
			HAS_CLAIMABLE[isOrdered ? 'ordered' : 'unordered'],
			...[destination, connection.now(), MAX_SEARCHED, poisonAfter],
		) === 1,
	claimsOf(owner, destinations) {
		const now = connection.now()
		return destinations
			.flatMap((destination) => connection.rows(CLAIMS_OF, destination, now, owner))
			.map(([id, attempt, claimedAt, sequence]) => ({
				...{ id: String(id), attempt: Number(attempt) },
				...{ claimedAt: Number(claimedAt), sequence: Number(sequence) },
			}))
	},
})
