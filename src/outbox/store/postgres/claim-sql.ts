/**
 * The claim statement. Rows are selected and locked first in a materialized step, because otherwise the planner may lock more than it uses. Then they
 * are updated by their physical position (ctid), which reads exactly those rows: joined by id, a planner with wrong estimates reads the whole table.
 * Each kind of target is one part of the text, present only if requested. The first row of the result has no id; it carries the time and the
 * circuits, so that a claim is one round trip.
 */
import { CIRCUIT_JSON } from './circuits.ts'

export type TargetKind = 'unordered' | 'ordered' | 'keys'

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

/**
 * Sequence numbers are assigned when rows are written, not when they are committed, so an earlier message can appear while a later one is in
 * flight. It must wait for that one. The check is bounded because a key may have any number of followers.
 */
const IS_UNBLOCKED = `
	not exists (
		select from {s}.outbox_dead d
		where d.destination = o.destination and d.key = o.key and d.blocks and d.seq < o.seq)
	and not exists (
		select from (
			select f.lease_until from {s}.outbox f
			where f.destination = o.destination and f.key = o.key and f.seq > o.seq
			order by f.seq limit ${LOOK_AHEAD}
		) later where later.lease_until > ${NOW})`

/** With order and limit the index alone yields the first row of a key; with `not exists` a planner reads the table. */
const firstSeqOf = (key: string): string =>
	`(select e.seq from {s}.outbox e where e.destination = l.destination and e.key = ${key} order by e.seq limit 1)`

const CONDITION: Record<TargetKind, string> = {
	unordered: 'o.due_at >= l.since',
	ordered: `o.due_at >= l.since and (o.key is null or (o.seq = ${firstSeqOf('o.key')} and ${IS_UNBLOCKED}))`,
	keys: IS_UNBLOCKED,
}

/** Keys are few and their messages many, so the scan starts from the keys. */
const FROM: Record<TargetKind, string> = {
	unordered: '{s}.outbox o',
	ordered: '{s}.outbox o',
	keys: `json_array_elements_text(l.keys) k(value)
		cross join lateral (
			select e.ctid as at from {s}.outbox e
			where e.destination = l.destination and e.key = k.value order by e.seq limit 1
		) h
		join {s}.outbox o on o.ctid = h.at`,
}

const partFor = (kind: TargetKind, crashes: string): string => `
	select x.at from l cross join lateral (
		select o.ctid as at from ${FROM[kind]}
		where o.destination = l.destination and o.due_at <= ${NOW} and ${FREE} and ${crashes} and ${CONDITION[kind]}
		order by o.due_at, o.seq limit l.max_rows
		for no key update of o skip locked
	) x where l.kind = '${kind}'`

const buildSql = ({ kinds, poisonCandidates, hasRecordedCrash }: ClaimShape): string => {
	const crashes = poisonCandidates
		? `${CRASHES} >= $4::int${hasRecordedCrash ? ' and o.crashes > 0' : ''}`
		: `${CRASHES} < $4::int`
	return `
with n as materialized (select {now} as ms),
a as materialized (
	select * from json_to_recordset($1::text::json)
	as a(destination text, max_rows int, since bigint, kind text, keys json, probe boolean)
),
l as materialized (
	select * from a where not exists (
		select from {s}.outbox_destinations g
		where g.destination = a.destination and (g.operator_until > ${NOW}
			or (not a.probe and (g.state <> 'closed' or g.paused_until > ${NOW}))))
),
c as materialized (${kinds.map((kind) => partFor(kind, crashes)).join('\n\tunion all')}
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
	(select json_agg(${CIRCUIT_JSON})::text from {s}.outbox_destinations g
		where g.version > 0 and g.destination in (select destination from a)) as payload,
	null::text as headers, 0 as attempts, 0 as max_retries, 0::double precision as delay_ms, 0 as crashes,
	0::bigint as created_at, n.ms as due_at, null::bigint as expires_at, 0::bigint as seq
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
