/**
 * The claim statement. Rows are selected and locked first in a materialized step, because otherwise the planner may lock more than it uses. Then they
 * are updated by their physical position (ctid), which reads exactly those rows: joined by id, a planner with wrong estimates reads the whole table.
 * Each kind of target is one part of the text, present only if requested. The first row of the result has no id; it carries the time and the
 * circuits, so that a claim is one round trip.
 */
import { circuitsOf } from './circuits.ts'

type ScanKind = 'unordered' | 'ordered'
export type TargetKind = ScanKind | 'keys' | 'runs'

interface ClaimShape {
	readonly kinds: readonly TargetKind[]
	readonly poisonCandidates: boolean
	/** True if a candidate must have a recorded crash, so that the small index of those suffices. */
	readonly hasRecordedCrash: boolean
}

const NOW = '(select ms from n)'

/** Not held, or held by a relay that is considered dead: a lock that is still set is a crash discovered now. */
const FREE = `(o.lease_until is null or o.lease_until <= ${NOW})`
const CRASHES = 'o.crashes + (o.locked_by is not null)::int'

/** Number of followers checked for one in flight. */
const LOOK_AHEAD = 32

const followers = (columns: string, condition: string): string => `
	select ${columns} from {s}.outbox f
	where f.destination = o.destination and f.key = o.key and f.seq > o.seq${condition}
	order by f.seq limit`

/**
 * An earlier message can appear while a later one is in flight: by a replay, or because its transaction was committed late and did not lock the
 * key. It must wait for that one. The check is bounded because a key may have any number of followers. Messages that were enqueued under the lock
 * of their key need no check, which took a quarter of the time of a claim.
 *
 * A claim that is not committed yet is not in the snapshot, but it holds the lock of its row. So the next message is locked too: the message is
 * unblocked if the one that can be locked and is free is the one that the snapshot shows as next. The same for the next one that was enqueued under the
 * lock: if all between are replayed, it was the first of its key before.
 */
const IS_FREE = `(f.lease_until is null or f.lease_until <= ${NOW})`
const IS_UNBLOCKED = `
	(select d.seq from {s}.outbox_dead d
		where d.destination collate "C" = o.destination and d.key = o.key and (d.key, d.seq) < (o.key, o.seq) and d.blocks
		limit 1) is null
	and (o.in_order or (
		(select p.are_free and (p.first_in_order is null or (
			select f.seq from {s}.outbox f
			where f.destination = o.destination and f.key = o.key and f.seq = p.first_in_order and ${IS_FREE}
			order by f.seq limit 1 for no key update skip locked) is not null)
		from (
			select bool_and(later.is_free) is not false as are_free, min(later.seq) filter (where later.in_order) as first_in_order
			from (${followers(`f.seq, f.in_order, ${IS_FREE} as is_free`, '')} ${LOOK_AHEAD}) later
		) p)
	and (${followers('f.seq', '')} 1) is not distinct from (
		${followers('f.seq', ` and ${IS_FREE}`)} 1 for no key update skip locked)))`

const headOf = (columns: string, key: string): string =>
	`select ${columns} from {s}.outbox e where e.destination = l.destination and e.key = ${key} order by e.seq limit 1`

const SELECTED: Record<ScanKind, string> = {
	unordered: 'o.due_at >= l.since',
	ordered: `o.due_at >= l.since and (o.key is null or (o.key <> all(l.held) and o.seq = (${headOf('e.seq', 'o.key')}) and ${IS_UNBLOCKED}))`,
}

/** Poison candidates have an index of their own, which only this comparison fits. */
const OF_DESTINATION = 'o.destination = l.destination'
const OF_DESTINATION_CRASHED = 'o.destination collate "C" = l.destination and o.crashes > 0'

const DUE = `o.due_at <= ${NOW} and ${FREE}`

const scanPart = (kind: ScanKind, destination: string, crashes: string): string => `
	select x.at from l cross join lateral (
		select o.ctid as at from {s}.outbox o
		where ${destination} and ${DUE} and ${crashes} and ${SELECTED[kind]}
		order by o.due_at, o.seq limit l.max_rows
		for no key update of o skip locked
	) x where l.kind = '${kind}'`

/**
 * Finds the first message of each key, then locks exactly those: locked in the same step, a message that another relay holds would be skipped and
 * its follower claimed.
 */
const keysPart = (crashes: string): string => `
	select x.at from l cross join lateral (
		select y.at from json_array_elements_text(l.keys) k(value)
		cross join lateral (${headOf('e.ctid as at', 'k.value')}) h
		cross join lateral (
			select o.ctid as at from {s}.outbox o where o.ctid = h.at and ${DUE} and ${crashes} and ${IS_UNBLOCKED}
			for no key update of o skip locked
		) y limit l.max_rows
	) x where l.kind = 'keys'`

/** The sequence number of the first dead letter that blocks the key; the collation is that of its index. */
const BLOCKED_FROM = `
	select d.seq from {s}.outbox_dead d
	where d.destination collate "C" = l.destination and d.key = k.value and d.blocks order by d.key, d.seq limit 1`

/**
 * Selects the first message of each key and those that directly follow it, then locks exactly those. If one of them was changed or locked meanwhile, the
 * run ends before it, so that no message is claimed without its predecessor.
 */
const runsPart = (crashes: string): string => {
	const claimable = `${DUE} and ${crashes}`
	return `
	select x.at from l cross join lateral (
		select z.at from (
			select y.at, y.nth, row_number() over (partition by k.value order by y.nth) as found
			from (select distinct value from json_array_elements_text(l.keys) j(value)) k
			cross join lateral (
				select q.at, q.nth from (
					select o.at, row_number() over w as nth,
						bool_and(${claimable} and o.seq <= coalesce((${BLOCKED_FROM}), o.seq)) over w as is_claimable
					from (
						select e.ctid as at, e.seq, e.due_at, e.lease_until, e.crashes, e.locked_by from {s}.outbox e
						where e.destination = l.destination and e.key = k.value order by e.seq limit l.per_key
					) o
					window w as (order by o.seq rows unbounded preceding)
				) q where q.is_claimable
			) r
			cross join lateral (
				select o.ctid as at, r.nth from {s}.outbox o
				where o.ctid = r.at and ${claimable} and (r.nth > 1 or (${IS_UNBLOCKED}))
				for no key update of o skip locked
			) y
		) z where z.nth = z.found
		order by z.nth limit l.max_rows
	) x where l.kind = 'runs'`
}

/** The number of replays to the destinations that a query named `destination` returns. The limit keeps it a lookup of each. */
const replaysOf = (destinations: string): string => `
	select coalesce(sum(c.replays), 0)::bigint from (${destinations}) d cross join lateral (
		select g.replays from {s}.outbox_destinations g where g.destination = d.destination limit 1
	) c`

/**
 * Runs after a claim, in its transaction. If it returns another number than the claim, messages were replayed since the claim's snapshot. Another
 * relay may have claimed one of them before this claim locked the next message of its key, which the snapshot shows as the first.
 */
export const REPLAYS: string = `select (${replaysOf('select distinct value as destination from json_array_elements_text($1::text::json)')}) as seq`

/** Of these messages, returns those of whose key another relay has an earlier one in flight. */
export const OVERTAKING: string = `
with n as materialized (select {now} as ms)
select r.id from json_to_recordset($1::text::json) as r(id text, destination text, key text, sequence bigint)
where (
	select e.seq from (
		select f.seq, f.locked_by, f.lease_until from {s}.outbox f
		where f.destination = r.destination and f.key = r.key and f.seq < r.sequence order by f.seq limit ${LOOK_AHEAD}
	) e where e.locked_by <> $2::text and e.lease_until > ${NOW} limit 1) is not null`

const buildSql = ({ kinds, poisonCandidates, hasRecordedCrash }: ClaimShape): string => {
	const crashes = `${CRASHES} ${poisonCandidates ? '>=' : '<'} $4::int`
	const destination = poisonCandidates && hasRecordedCrash ? OF_DESTINATION_CRASHED : OF_DESTINATION
	const replays = kinds.some((kind) => kind !== 'unordered')
		? `(${replaysOf("select distinct destination from a where kind <> 'unordered'")})`
		: '0::bigint'
	const partFor = (kind: TargetKind) => {
		if (kind === 'keys') return keysPart(crashes)
		if (kind === 'runs') return runsPart(crashes)
		return scanPart(kind, destination, crashes)
	}
	return `
with n as materialized (select {now} as ms),
a as materialized (
	select * from json_to_recordset($1::text::json)
	as a(destination text, max_rows int, since bigint, kind text, keys json, per_key int, held text[], probe boolean)
),
l as materialized (
	select * from a where (
		select true from {s}.outbox_destinations g
		where g.destination = a.destination and (g.operator_until > ${NOW}
			or (not a.probe and (g.state <> 'closed' or g.paused_until > ${NOW})))) is null
),
c as materialized (${kinds.map(partFor).join('\n\tunion all')}
),
u as (
	update {s}.outbox o set
		attempts = o.attempts + 1,
		crashes = ${CRASHES},
		last_attempt_at = coalesce(o.locked_at, o.last_attempt_at),
		locked_by = $2::text,
		locked_at = ${NOW},
		lease_until = ${NOW} + $3::bigint
	where o.ctid = any(array(select at from c))
	returning o.*
)
select null::text as id, null::text as destination, null::text as topic, null::text as key,
	(${circuitsOf('select distinct destination from a')}) as payload,
	null::text as headers, 0 as attempts, 0 as max_retries, 0::double precision as delay_ms, 0 as crashes,
	0::bigint as created_at, n.ms as due_at, null::bigint as expires_at, ${replays} as seq
from n
union all
select id::text, destination, topic, key, payload, headers, attempts, max_retries, delay_ms, crashes,
	created_at, due_at, expires_at, seq
from u`
}

const cache = new Map<string, string>()

/** Returns the same text for the same shape, so that it is prepared once. */
export function claimSql(shape: ClaimShape): string {
	const name = `${shape.kinds.join()} ${shape.poisonCandidates} ${shape.hasRecordedCrash}`
	let sql = cache.get(name)
	if (sql === undefined) {
		sql = buildSql(shape)
		cache.set(name, sql)
	}
	return sql
}
