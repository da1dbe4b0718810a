/**
 * The parts of a claim that search the messages of a key. While a session holds an old snapshot, the entries
 * of sent messages stay in the index, and a search from the first entry of the key reads all of them. With
 * bounds (see `KeyBounds`) the search starts where the messages of the key start, and what can appear before
 * is found by a small index of its own: messages that were replayed, or enqueued without the lock of their
 * key.
 *
 * The parts are in the scope of a row `target`, whose column `bounds` has the bounds by key.
 */

/** The time of the claim. */
export const NOW = '(select ms from clock)'

/** Number of messages that were not replayed which are checked for one in flight. */
const LOOK_AHEAD = 32

/** An index with this collation fits no other comparison, and no other index fits this one. */
const inIndex = (key: string, condition: string): string =>
	`f.destination collate "C" = target.destination and f.key = ${key} and ${condition}`

interface Messages {
	readonly key: string
	/** No message of the key that was enqueued under its lock is before this sequence number, and none will be. Undefined without bounds. */
	readonly bound: string | undefined
	/** The sequence number that all are after. */
	readonly after?: string
	readonly limit: string | number
	/** False leaves replayed messages out. */
	readonly withReplayed?: boolean
}

const COLUMNS = 'f.ctid as at, f.seq, f.due_at, f.lease_until, f.crashes, f.locked_by, f.in_order'

/** Returns the first messages of a key, in order. */
export function messagesOf({ key, bound, after = '-1', limit, withReplayed = true }: Messages): string {
	const some = (which: string) =>
		`select ${COLUMNS} from {s}.outbox f where ${which}${withReplayed ? '' : ' and not f.replayed'} order by f.seq limit ${limit}`
	const ofKey = `f.destination = target.destination and f.key = ${key}`
	if (bound === undefined) return some(`${ofKey} and f.seq > ${after}`)
	return `select f.* from (
		(${some(`${ofKey} and f.seq >= greatest(${bound}, ${after} + 1)`)})
		union all (${some(`${inIndex(key, 'not f.in_order')} and f.seq > ${after} and f.seq < ${bound}`)})
	) f order by f.seq limit ${limit}`
}

export const boundOf = (key: string): string => `coalesce((target.bounds ->> ${key})::bigint, 0)`

const IS_FREE = `(f.lease_until is null or f.lease_until <= ${NOW})`

/**
 * Returns the condition that nothing blocks the message `o`, the first one of its key.
 *
 * An earlier message can appear while a later one is in flight: by a replay, or because its transaction was
 * committed late and did not lock the key. It must wait for that one. Any number may have been replayed, and
 * the index finds one of them that is in flight. Among the other followers, the one in flight was the first of
 * its key a moment ago, so a few are checked, however many the key has. Messages that were enqueued under the
 * lock of their key need no check, which took a quarter of the time of a claim.
 *
 * A claim that is not committed yet is not in the snapshot, but it holds the lock of its row. So the next
 * message is locked too, and the next one that was not replayed, which was the first of its key before the
 * replay: the message is unblocked if both can be locked and are free. Without `locks` nothing is locked, for
 * a statement that only asks.
 */
export function isUnblocked(hasBounds: boolean, locks = true): string {
	const bound = hasBounds ? boundOf('o.key') : undefined
	const followers = (limit: number, withReplayed: boolean) =>
		messagesOf({ key: 'o.key', bound, after: 'o.seq', limit, withReplayed })
	const isLockable = (withReplayed: boolean) => `
	(select (select f.seq from {s}.outbox f where f.ctid = x.at and ${IS_FREE} for no key update skip locked) is not null
	from (${followers(1, withReplayed)}) x) is not false`
	return `
	(select d.seq from {s}.outbox_dead d
		where d.destination collate "C" = o.destination and d.key = o.key and (d.key, d.seq) < (o.key, o.seq) and d.blocks
		limit 1) is null
	and (o.in_order or (
		(select f.seq from {s}.outbox f where ${inIndex('o.key', 'f.replayed')} and f.seq > o.seq and not ${IS_FREE} order by f.seq limit 1) is null
		and (select bool_and(${IS_FREE}) from (${followers(LOOK_AHEAD, false)}) f) is not false
		${locks ? `and ${isLockable(true)} and ${isLockable(false)}` : ''}))`
}
