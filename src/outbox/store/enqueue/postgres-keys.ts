/**
 * The dedupe keys: one row per key, unique at every isolation level. A unique index shows what a snapshot does not, so a transaction whose
 * snapshot is older than the other message finds its key, or fails with SQLSTATE 40001. Rejected: looking for the key in the tables of
 * messages, which finds nothing once the other message was sent.
 *
 * A key is taken until it expires, and as long as its message is queued or dead. The message is looked up only for expired keys.
 */
import type { PostgresExecutor } from '../../../sql/postgres-executor.ts'
import type { Big } from '../../../sql/postgres-values.ts'
import { HELD_KEY_MS } from '../insert-options.ts'
import { MAX_TIME } from '../time-after.ts'

const hasMessage = (key: string): string => `(
	exists (select from {s}.outbox o where o.id = ${key}.id) or exists (select from {s}.outbox_dead d where d.id = ${key}.id))`

/**
 * Takes the dedupe keys of `r` and defines `holders`: the message that has each key. Needs `n.ms`, and the lifetime as `forMs`. Keys are sorted, so
 * that two batches never wait for each other.
 *
 * A key in the snapshot that is taken is only read. Otherwise its row is inserted or locked: on a conflict, it changes its owner if it is the
 * expired row of the snapshot, and else keeps it, which is written so that RETURNING names the owner. An expired row that is not in the
 * snapshot is kept too, because its message is not in the snapshot either.
 */
export const takeKeys = (forMs: string): string => `
f as materialized (
	select distinct on (r.dedupe_key) r.dedupe_key, r.id, r.not_before from r where r.dedupe_key is not null order by r.dedupe_key, r.at
),
known as materialized (
	select k.dedupe_key, k.id, k.expires_at > n.ms or ${hasMessage('k')} as is_taken
	from n cross join f cross join lateral (select * from {s}.outbox_dedupe e where e.dedupe_key = f.dedupe_key limit 1) k
),
taken as (
	insert into {s}.outbox_dedupe as k (dedupe_key, id, expires_at)
	select f.dedupe_key, f.id, least(greatest(f.not_before, n.ms) + ${forMs}, ${MAX_TIME})::bigint from n cross join f
	where not exists (select from known h where h.dedupe_key = f.dedupe_key and h.is_taken)
	order by f.dedupe_key
	on conflict (dedupe_key) do update set
		id = case when k.id = (select h.id from known h where h.dedupe_key = k.dedupe_key) then excluded.id else k.id end,
		expires_at = case when k.id = (select h.id from known h where h.dedupe_key = k.dedupe_key) then excluded.expires_at
			else k.expires_at end
	returning k.dedupe_key, k.id
),
holders as materialized (
	select dedupe_key, id from known where is_taken union all select dedupe_key, id from taken
)`

/**
 * Skips rows that a transaction is changing. The id is compared after locking, because a row that was changed meanwhile belongs to a message that
 * this snapshot does not contain.
 */
const DROP = `
with n as materialized (select {now} as ms),
c as materialized (
	select k.ctid as at, k.dedupe_key, k.id, ${hasMessage('k')} as is_taken from {s}.outbox_dedupe k
	where k.expires_at <= (select ms from n) order by k.expires_at limit $1::int
),
l as materialized (
	select k.ctid as at, k.dedupe_key, k.id from {s}.outbox_dedupe k
	where k.ctid = any(array(select at from c)) for update skip locked
),
same as materialized (select l.at, c.is_taken from l join c on c.dedupe_key = l.dedupe_key and c.id = l.id),
d as (
	delete from {s}.outbox_dedupe where ctid = any(array(select at from same where not is_taken))
),
u as (
	update {s}.outbox_dedupe set expires_at = (select ms from n) + ${HELD_KEY_MS}
	where ctid = any(array(select at from same where is_taken))
)
select count(*) as count from c`

export async function dropDedupeKeys(executor: PostgresExecutor, limit: number): Promise<number> {
	const [row] = await executor.run<{ count: Big }>(DROP, [limit])
	return Number(row?.count)
}
