/**
 * What a relay asks besides claiming: which destinations have due messages, when the next message is due, whether
 * one can be claimed, and which messages it holds. Each question reads a bounded number of rows.
 *
 * Destinations are found by jumping from one to the next in an index: each jump costs microseconds, however many
 * messages a destination has. One statement per jump; a single recursive statement could not stop at the last
 * wanted name.
 */
import type { SqliteConnection } from '../../../sql/sqlite-connection.ts'
import { MAX_SEARCHED } from '../counting.ts'
import { HAS_CRASHES, IS_HEAD } from './claim.ts'
import type { Operations } from './executor.ts'

/** Before all destinations: no destination has an empty name. */
export const NO_DESTINATION = ''

/** The next destination with the due time of its first message. */
export const NEXT_QUEUED = `SELECT destination, due_at FROM yaoki_outbox INDEXED BY yaoki_outbox_due
	WHERE destination > ? ORDER BY destination, due_at LIMIT 1`

const NEXT_DUE = `SELECT due_at FROM yaoki_outbox INDEXED BY yaoki_outbox_due WHERE destination = ?1
	AND due_at > ?2 AND (lease_until IS NULL OR lease_until <= ?2) ORDER BY due_at LIMIT 1`

/**
 * Returns 1 if one of the first ?3 due messages can be claimed. If none of them can and there are more, one of
 * those may be claimable, and the result is 1 too.
 */
const claimableSql = (isOrdered: boolean): string => `SELECT EXISTS (
	SELECT 1 FROM (SELECT q.key, q.seq, q.in_order, q.destination, q.lease_until, q.crashes, q.locked_by
		FROM yaoki_outbox q INDEXED BY yaoki_outbox_due
		WHERE q.destination = ?1 AND q.due_at <= ?2 ORDER BY q.due_at, q.seq LIMIT ?3) q
	WHERE (q.lease_until IS NULL OR q.lease_until <= ?2) AND ${HAS_CRASHES['few crashes']}${isOrdered ? ` AND ${IS_HEAD}` : ''}
) OR (SELECT 1 FROM yaoki_outbox q INDEXED BY yaoki_outbox_due
	WHERE q.destination = ?1 AND q.due_at <= ?2 ORDER BY q.due_at, q.seq LIMIT 1 OFFSET ?3) IS NOT NULL`

const HAS_CLAIMABLE = { ordered: claimableSql(true), unordered: claimableSql(false) }

const CLAIMS_OF = `SELECT id, attempts, locked_at, seq FROM (
		SELECT id, attempts, locked_by, locked_at, lease_until, seq FROM yaoki_outbox INDEXED BY yaoki_outbox_due
		WHERE destination = ?1 AND due_at <= ?2 ORDER BY due_at, seq LIMIT ${MAX_SEARCHED}
	) WHERE locked_by = ?3 AND lease_until > ?2`

export const dueOperations = (
	connection: SqliteConnection,
): Operations<'dueDestinations' | 'nextDueInMs' | 'hasClaimable' | 'claimsOf'> => ({
	dueDestinations(limit, after = NO_DESTINATION) {
		const now = connection.now()
		const names: string[] = []
		let nextDueAt = Infinity
		let at = after
		while (names.length < limit) {
			const [name, dueAt] = connection.row(NEXT_QUEUED, at) ?? []
			if (name === undefined) break
			at = String(name)
			if (Number(dueAt) <= now) names.push(at)
			else nextDueAt = Math.min(nextDueAt, Number(dueAt))
		}
		return { names, nextDueInMs: nextDueAt === Infinity ? undefined : nextDueAt - now }
	},
	nextDueInMs(destinations) {
		const now = connection.now()
		const times = destinations.flatMap((name) => connection.row(NEXT_DUE, name, now)?.[0] ?? [])
		return times.length > 0 ? Math.min(...times.map(Number)) - now : undefined
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
				id: String(id),
				attempt: Number(attempt),
				claimedAt: Number(claimedAt),
				sequence: Number(sequence),
			}))
	},
})
