/**
 * The statement of a claim. Rows are chosen and locked first, behind a materialised step, or the planner might lock more than it
 * takes; then they are updated by their place in the table (ctid), which can be nothing but a look at just those rows: joined
 * by their id, a planner that guesses wrong reads the whole table. Each kind of lane is a part of its own, and only those that
 * are asked for are there. The first row of the answer has no id: it carries the time and the gates, so that all is one round trip.
 */
import { GATE_JSON } from './gate-sql.ts'

export type LaneKind = 'plain' | 'ordered' | 'keys'

interface ClaimShape {
	readonly kinds: readonly LaneKind[]
	readonly poisonCandidates: boolean
	/** Must a suspect have been seen to crash before? Then the small index of those is enough. */
	readonly hasCrashed: boolean
}

const NOW = '(select ms from n)'

/** Nobody holds it, or who does is believed dead. A holder that is still written there is a death that is discovered now. */
const FREE = `(o.lease_until is null or o.lease_until <= ${NOW})`
const CRASHES = 'o.crashes + (o.locked_by is not null)::int'

/** So many followers are looked at for one that is in flight. */
const LOOK_AHEAD = 32

/**
 * Is it the first of its key? Numbers are given when rows are written and not when they are committed, so that an earlier one may turn up
 * while a later one is in flight: it has to wait for that. The look ahead is bounded, for a key may have any number of followers.
 */
const IS_UNHINDERED = `
	not exists (
		select from {s}.outbox_dead d
		where d.destination = o.destination and d.key = o.key and d.blocks and d.seq < o.seq)
	and not exists (
		select from (
			select f.lease_until from {s}.outbox f
			where f.destination = o.destination and f.key = o.key and f.seq > o.seq
			order by f.seq limit ${LOOK_AHEAD}
		) later where later.lease_until > ${NOW})`

/** The number of the first of a key. By order and limit it can be had from the index alone; asked whether none is before it, a planner reads the table. */
const firstOf = (key: string): string =>
	`(select e.seq from {s}.outbox e where e.destination = l.destination and e.key = ${key} order by e.seq limit 1)`

const WHICH: Record<LaneKind, string> = {
	plain: 'o.due_at >= l.since',
	ordered: `o.due_at >= l.since and (o.key is null or (o.seq = ${firstOf('o.key')} and ${IS_UNHINDERED}))`,
	keys: IS_UNHINDERED,
}

/** Keys are few and their messages many: it goes by the keys. */
const FROM: Record<LaneKind, string> = {
	plain: '{s}.outbox o',
	ordered: '{s}.outbox o',
	keys: `json_array_elements_text(l.keys) k(value)
		cross join lateral (
			select e.ctid as at from {s}.outbox e
			where e.destination = l.destination and e.key = k.value order by e.seq limit 1
		) h
		join {s}.outbox o on o.ctid = h.at`,
}

const part = (kind: LaneKind, poisonCandidates: string): string => `
	select x.at from l cross join lateral (
		select o.ctid as at from ${FROM[kind]}
		where o.destination = l.destination and o.due_at <= ${NOW} and ${FREE} and ${poisonCandidates} and ${WHICH[kind]}
		order by o.due_at, o.seq limit l.max_rows
		for no key update of o skip locked
	) x where l.kind = '${kind}'`

const write = ({ kinds, poisonCandidates, hasCrashed }: ClaimShape): string => {
	const only = poisonCandidates
		? `${CRASHES} >= $4::int${hasCrashed ? ' and o.crashes > 0' : ''}`
		: `${CRASHES} < $4::int`
	return `
with n as materialized (select {now} as ms),
a as materialized (
	select * from json_to_recordset($1::text::json)
	as a(destination text, max_rows int, since bigint, kind text, keys json, probe boolean)
),
l as materialized (
	select * from a where a.probe or not exists (
		select from {s}.outbox_destinations g
		where g.destination = a.destination and (g.state <> 'closed' or g.paused_until > ${NOW}))
),
c as materialized (${kinds.map((kind) => part(kind, only)).join('\n\tunion all')}
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
	(select json_agg(${GATE_JSON})::text from {s}.outbox_destinations g cross join n
		where g.version > 0 and g.destination in (select destination from a)) as payload,
	null::text as headers, 0 as attempts, 0 as max_retries, 0::double precision as delay_ms, 0 as crashes,
	0::bigint as created_at, n.ms as due_at, null::bigint as expires_at, 0::bigint as seq
from n
union all
select id::text, destination, topic, key, payload, headers, attempts, max_retries, delay_ms, crashes,
	created_at, due_at, expires_at, seq
from u`
}

const written = new Map<string, string>()

/** The same text for the same shape, so that it is prepared once. */
export function claimSql(shape: ClaimShape): string {
	const name = `${shape.kinds.join()} ${shape.poisonCandidates} ${shape.hasCrashed}`
	let sql = written.get(name)
	if (sql === undefined) {
		sql = write(shape)
		written.set(name, sql)
	}
	return sql
}
