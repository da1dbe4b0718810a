/**
 * The dedupe keys: one row per key, unique at every isolation level. A unique index shows what a snapshot
 * does not, so a transaction whose snapshot is older than the other message finds its key, or fails with
 * SQLSTATE 40001. Rejected: looking for the key in the tables of messages, which finds nothing once the other
 * message was sent.
 *
 * A key is taken until it expires, and as long as its message is queued or dead. The message is looked up
 * only for expired keys.
 */
import type { PostgresExecutor } from '../../../sql/postgres-executor.ts'
import type { Big } from '../../../sql/postgres-values.ts'
import { HELD_KEY_MS, MAX_TIME } from '../stored-values.ts'

const hasMessage = (key: string): string => `(
	exists (select from {s}.outbox o where o.id = ${key}.id) or exists (select from {s}.outbox_dead d where d.id = ${key}.id))`

/**
 * Takes the dedupe keys of the messages in `given`, at the time in `clock`.
 *
 * `first`: the first message of each key. Keys are sorted, so that two batches never wait for each other.
 * `known`: the keys that exist in the snapshot. A key that is taken is only read.
 * `taken`: the other keys. Each row is inserted or locked. On a conflict, it changes its owner if it is the expired
 * row of the snapshot. Otherwise it keeps its owner, which is written so that RETURNING names it. An expired row
 * that is not in the snapshot is kept too, because its message is not in the snapshot either.
 * `holders`: the message that has each key.
 */
export const TAKE_DEDUPE_KEYS: string = `
first as materialized (
	select distinct on (given.dedupe_key) given.dedupe_key, given.id, given.not_before
	from given where given.dedupe_key is not null order by given.dedupe_key, given.position
),
known as materialized (
	select k.dedupe_key, k.id, k.expires_at > clock.ms or ${hasMessage('k')} as is_taken
	from clock cross join first cross join lateral (select * from {s}.outbox_dedupe e where e.dedupe_key = first.dedupe_key limit 1) k
),
taken as (
	insert into {s}.outbox_dedupe as k (dedupe_key, id, expires_at)
	select first.dedupe_key, first.id, least(greatest(first.not_before, clock.ms) + clock.dedupe_for_ms, ${MAX_TIME})::bigint
	from clock cross join first
	where not exists (select from known where known.dedupe_key = first.dedupe_key and known.is_taken)
	order by first.dedupe_key
	on conflict (dedupe_key) do update set
		id = case when k.id = (select known.id from known where known.dedupe_key = k.dedupe_key) then excluded.id else k.id end,
		expires_at = case when k.id = (select known.id from known where known.dedupe_key = k.dedupe_key) then excluded.expires_at
			else k.expires_at end
	returning k.dedupe_key, k.id
),
holders as materialized (
	select dedupe_key, id from known where is_taken union all select dedupe_key, id from taken
),`

/**
 * `expired`: expired keys, and whether their message still exists. `locked`: skips rows that a transaction is
 * changing. `unchanged`: compares the id after locking, because a row that was changed meanwhile belongs to a
 * message that this snapshot does not contain.
 */
const DROP = `
with clock as materialized (select {now} as ms),
expired as materialized (
	select k.ctid as at, k.dedupe_key, k.id, ${hasMessage('k')} as is_taken from {s}.outbox_dedupe k
	where k.expires_at <= (select ms from clock) order by k.expires_at limit $1::int
),
locked as materialized (
	select k.ctid as at, k.dedupe_key, k.id from {s}.outbox_dedupe k
	where k.ctid = any(array(select at from expired)) for update skip locked
),
unchanged as materialized (
	select locked.at, expired.is_taken from locked join expired on expired.dedupe_key = locked.dedupe_key and expired.id = locked.id
),
deleted as (
	delete from {s}.outbox_dedupe where ctid = any(array(select at from unchanged where not is_taken))
),
postponed as (
	update {s}.outbox_dedupe set expires_at = (select ms from clock) + ${HELD_KEY_MS}
	where ctid = any(array(select at from unchanged where is_taken))
)
select count(*) as count from expired`

export async function dropDedupeKeys(executor: PostgresExecutor, limit: number): Promise<number> {
	const [row] = await executor.run<{ count: Big }>(DROP, [limit])
	return Number(row?.count)
}
