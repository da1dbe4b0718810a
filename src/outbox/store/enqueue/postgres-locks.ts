/**
 * Locks destination and key of new messages until the transaction ends. Advisory locks need no row, and do not fail at REPEATABLE READ as the
 * update of a row that another transaction has changed would.
 *
 * PostgreSQL has room for about 64 locks per connection, for all connections together, and fails when it is full. So a batch with more keys locks
 * groups of keys instead, which excludes all keys of a group: every message locks its group too, shared.
 *
 * All statements lock groups first and then keys, each in ascending order, so that two of them never wait for each other.
 */

/** The number of groups, and of keys that a statement locks one by one. */
const MAX_LOCKS = 64

/** The schema is part of the locks: two outboxes in a database do not wait for each other. */
const keyLock = (destination: string, key: string): string =>
	`hashtextextended('{s}' || ${destination} || E'\\x1f' || ${key}, 0)`

/** Two numbers instead of one: PostgreSQL keeps such locks apart from the locks of keys. */
const groupLock = (lock: string): string => `hashtext('yaoki outbox {s}'), (${lock} & ${MAX_LOCKS - 1})::int`

/** Defines `locked`, one row that exists when the lock of one message is held. */
export const lockOne = (destination: string, key: string): string => `
k as materialized (select ${keyLock(destination, key)} as lock),
g as materialized (select k.lock, pg_advisory_xact_lock_shared(${groupLock('k.lock')}) from k),
locked as materialized (select pg_advisory_xact_lock(g.lock) from g)`

/** Defines `locked`, one row that exists when the locks of all keys in `r` are held. */
export const LOCK_KEYS: string = `
k as materialized (
	select distinct ${keyLock('r.destination', 'r.key')} as lock from r where r.key is not null
),
batch as materialized (select count(*) > ${MAX_LOCKS} as is_large from k),
g as materialized (
	select case when batch.is_large then pg_advisory_xact_lock(${groupLock('x.lock')}) else pg_advisory_xact_lock_shared(${groupLock('x.lock')}) end
	from batch cross join (select distinct k.lock & ${MAX_LOCKS - 1} as lock from k order by 1 offset 0) x
),
h as materialized (
	select pg_advisory_xact_lock(x.lock) from (select count(*) from g) all_groups cross join lateral (
		select k.lock from k cross join batch where not batch.is_large and all_groups.count > 0 order by k.lock offset 0
	) x
),
locked as materialized (select count(*) from h)`
