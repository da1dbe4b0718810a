/**
 * The claim statement. Rows are selected and locked first in a materialized step, because otherwise the
 * planner may lock more than it uses. Then they are updated by their physical position (ctid), which reads
 * exactly those rows: joined by id, a planner with wrong estimates reads the whole table. Each kind of target
 * is one part of the text, present only if requested. The first row of the result has no id; it carries the
 * time and the circuits, so that a claim is one round trip.
 */
import { oneTextPerShape } from '../../../sql/postgres-values.ts'
import type { CrashFilter } from '../decisions/poison.ts'
import { circuitsOf } from './circuits.ts'
import { boundOf, isUnblocked, messagesOf, NOW } from './key-messages.ts'

export type TargetKind = 'unordered' | 'ordered' | 'keys' | 'runs'

interface ClaimShape {
	readonly kinds: readonly TargetKind[]
	readonly crashes: CrashFilter
	/** True if a target has bounds of keys. */
	readonly hasBounds: boolean
}

/** No relay holds the message, or one that is considered dead: a lock that is still set is a crash discovered now. */
const FREE = `(o.lease_until is null or o.lease_until <= ${NOW})`
const CRASHES = 'o.crashes + (o.locked_by is not null)::int'

/** Poison candidates have an index of their own, which only this comparison fits. */
const OF_DESTINATION = 'o.destination = target.destination'
const OF_DESTINATION_CRASHED = 'o.destination collate "C" = target.destination and o.crashes > 0'

const DUE = `o.due_at <= ${NOW} and ${FREE}`

const unorderedPart = (destination: string, crashes: string): string => `
	select x.at, null::json as report from target cross join lateral (
		select o.ctid as at from {s}.outbox o
		where ${destination} and ${DUE} and ${crashes} and o.due_at >= target.since
		order by o.due_at, o.seq limit target.max_rows
		for no key update of o skip locked
	) x where target.kind = 'unordered'`

/** Locks the rows of `from`, which has their positions as `at`. */
const locked = (from: string, condition: string): string => `
	(${from}) found cross join lateral (
		select o.ctid as at from {s}.outbox o where o.ctid = found.at and ${condition}
		for no key update of o skip locked
	) y`

/** The largest window of due messages that a claim or a search reads. */
export const MAX_WINDOW = 16_000

/** First messages at most this far after the bound need not be reported: the search for them is short. */
const SHORT_SEARCH = 64
const SLOW_MS = 50

/**
 * Reads a window of due messages, then finds the first message of each of their keys once, however many
 * messages of a key are due. The first messages are locked as in `keysPart`. One that is due after the window
 * is left to the next window, so that a scan can continue after the latest message it claimed.
 *
 * `due`: the window. `head`: the first message of each key in it. `taken`: what is locked.
 *
 * The report says where the window ends. With bounds, or if the search took long, it also says where the
 * first messages are that another claim holds or that are not due: the next claim starts there.
 */
const orderedPart = (destination: string, crashes: string, hasBounds: boolean): string => {
	const isSlow = hasBounds ? '' : ` and {now} > ${NOW} + ${SLOW_MS}`
	const heads = `(select json_agg(json_build_array(head.key, head.seq)) from head
			where head.in_order and not head.is_due and head.seq > head.bound + ${SHORT_SEARCH}${isSlow})`
	return `
	select x.at, x.report from target cross join lateral (
		with due as materialized (
			select o.ctid as at, o.key, o.due_at, o.seq, o.in_order from {s}.outbox o
			where ${destination} and ${DUE} and ${crashes} and (o.due_at, o.seq) > (target.since, target.after_seq) and (o.key is null or o.key <> all(target.held))
			order by o.due_at, o.seq limit target.window_rows
		), head as materialized (
			select k.key, k.bound, e.at, e.seq, e.due_at, e.in_order, e.due_at <= ${NOW} and (e.lease_until is null or e.lease_until <= ${NOW}) as is_due
			from (select due.key, ${lowestBound(hasBounds)} as bound from due where due.key is not null group by due.key) k
			cross join lateral (${firstOf(hasBounds)}) e
		), taken as materialized (
			select y.at from ${locked(
				`select due.at, due.due_at, due.seq from due where due.key is null
				union all
				select head.at, head.due_at, head.seq from head where head.is_due and head.due_at <= (select max(due.due_at) from due)
				order by due_at, seq`,
				`${DUE} and ${crashes} and (o.key is null or (${isUnblocked(hasBounds)}))`,
			)} limit target.max_rows
		)
		select taken.at, null::json as report from taken
		union all
		select null, json_build_object('target', target.position, 'rows', (select count(*) from due), 'found', (select count(*) from taken),
			'last', (select max(array[due.due_at, due.seq]) from due), 'heads', ${heads})
	) x where target.kind = 'ordered'`
}

/** Returns the search for the first message of the key `k`. */
const firstOf = (hasBounds: boolean): string =>
	messagesOf({ key: 'k.key', bound: hasBounds ? 'k.bound' : undefined, limit: 1 })

/**
 * Returns the bound of a key in `due`. A bound above a message that was enqueued under the lock of its key is
 * wrong: the sequence was set back, for example by a restored backup. It is lowered.
 */
const lowestBound = (hasBounds: boolean): string =>
	hasBounds ? `least(${boundOf('due.key')}, min(due.seq) filter (where due.in_order))` : '0::bigint'

/** The keys of a target with their bounds, which are looked up once. */
const keysOf = (keys: string, hasBounds: boolean): string =>
	hasBounds ? `(select j.value, ${boundOf('j.value')} as bound from ${keys} j(value) offset 0)` : keys

/**
 * Finds the first message of each key, then locks exactly those: locked in the same step, a message that
 * another relay holds would be skipped and its follower claimed.
 */
const keysPart = (crashes: string, hasBounds: boolean): string => {
	const bound = hasBounds ? 'k.bound' : undefined
	return `
	select x.at, null::json as report from target cross join lateral (
		select y.at from ${locked(
			`select f.at from ${keysOf('json_array_elements_text(target.keys)', hasBounds)} k${hasBounds ? '' : '(value)'}
			cross join lateral (${messagesOf({ key: 'k.value', bound, limit: 1 })}) f`,
			`${DUE} and ${crashes} and ${isUnblocked(hasBounds)}`,
		)} limit target.max_rows
	) x where target.kind = 'keys'`
}

/** The sequence number of the first dead letter that blocks the key; the collation is that of its index. */
const BLOCKED_FROM = `
	select d.seq from {s}.outbox_dead d
	where d.destination collate "C" = target.destination and d.key = k.value and d.blocks order by d.key, d.seq limit 1`

/**
 * Selects the first message of each key and those that directly follow it, then locks exactly those. If one
 * of them was changed or locked meanwhile, the run ends before it, so that no message is claimed without its
 * predecessor.
 */
const runsPart = (crashes: string, hasBounds: boolean): string => {
	const claimable = `${DUE} and ${crashes}`
	const distinct = '(select distinct value from json_array_elements_text(target.keys) i(value))'
	const bound = hasBounds ? 'k.bound' : undefined
	return `
	select x.at, null::json as report from target cross join lateral (
		select z.at from (
			select y.at, y.nth, row_number() over (partition by k.value order by y.nth) as found
			from ${keysOf(distinct, hasBounds)} k
			cross join lateral (
				select q.at, q.nth from (
					select o.at, row_number() over so_far as nth,
						bool_and(${claimable} and o.seq <= coalesce((${BLOCKED_FROM}), o.seq)) over so_far as is_claimable
					from (${messagesOf({ key: 'k.value', bound, limit: 'target.per_key' })}) o
					window so_far as (order by o.seq rows unbounded preceding)
				) q where q.is_claimable
			) r
			cross join lateral (
				select o.ctid as at, r.nth from {s}.outbox o
				where o.ctid = r.at and ${claimable} and (r.nth > 1 or (${isUnblocked(hasBounds)}))
				for no key update of o skip locked
			) y
		) z where z.nth = z.found
		order by z.nth limit target.max_rows
	) x where target.kind = 'runs'`
}

/**
 * Returns whether one of the first $3 due messages of the destination $1 can be claimed, and whether there
 * are as many. $2 is the number of crashes of a poison candidate, $4 the bounds of keys. The statement locks
 * nothing, because a lock of a row is a write.
 *
 * `clock`: the time. `target`: the destination with its bounds. `due`: the first due messages.
 */
export const claimableSql = (isOrdered: boolean, hasBounds: boolean): string => {
	const claimable = `${DUE} and ${CRASHES} < $2::int`
	const found = `
	exists (select from due where due.key is null) or exists (
		select from target cross join lateral (
			select due.key, ${lowestBound(hasBounds)} as bound from due where due.key is not null group by due.key
		) k cross join lateral (${firstOf(hasBounds)}) e
		where exists (select from {s}.outbox o where o.ctid = e.at and ${claimable} and ${isUnblocked(hasBounds, false)})
	)`
	return `
with clock as materialized (select {now} as ms),
target as materialized (select $1::text as destination, $4::text::jsonb as bounds),
due as materialized (
	select o.key, o.seq, o.in_order from target cross join lateral (
		select o.key, o.seq, o.in_order from {s}.outbox o
		where ${OF_DESTINATION} and ${claimable} order by o.due_at, o.seq limit $3::int
	) o
)
select ${isOrdered ? found : 'exists (select from due)'} as found, (select count(*) from due) >= $3::int as is_full`
}

/** The number of replays to the destinations that a query named `destination` returns. The limit keeps it a lookup of each. */
const replaysOf = (destinations: string): string => `
	select coalesce(sum(c.replays), 0)::bigint from (${destinations}) d cross join lateral (
		select g.replays from {s}.outbox_destinations g where g.destination = d.destination limit 1
	) c`

/**
 * Runs after a claim, in its transaction. If it returns another number than the claim, messages were replayed
 * since the claim's snapshot. Another relay may have claimed one of them before this claim locked the next
 * message of its key, which the snapshot shows as the first.
 */
export const REPLAYS: string = `select (${replaysOf('select distinct value as destination from json_array_elements_text($1::text::json)')}) as seq`

/** Returns the messages whose key has an earlier message in flight at another relay. */
export const OVERTAKING: string = `
with clock as materialized (select {now} as ms)
select r.id from json_to_recordset($1::text::json) as r(id text, destination text, key text, sequence bigint)
where (
	select f.seq from {s}.outbox f
	where f.destination collate "C" = r.destination and f.key = r.key and not f.in_order and f.seq < r.sequence
		and f.locked_by <> $2::text and f.lease_until > ${NOW}
	limit 1) is not null`

/** The columns of a claimed message after its id. */
const RETURNED =
	'destination, topic, key, payload, headers, attempts, max_retries, delay_ms, crashes, created_at, due_at, expires_at, seq'

/**
 * Returns the text of a claim, the same one for the same shape, so that it is prepared once.
 *
 * `clock`: the time. `asked`: the targets. `target`: the targets whose circuit admits the claim. `chosen`:
 * the positions of the messages to claim, which are locked, and the reports of scans. `claimed`: the update.
 */
export const claimSql: (shape: ClaimShape) => string = oneTextPerShape((shape) => {
	const { kinds, crashes: filter, hasBounds } = shape
	const crashes = `${CRASHES} ${filter === 'few crashes' ? '<' : '>='} $4::int`
	const destination = filter === 'recorded crashes' ? OF_DESTINATION_CRASHED : OF_DESTINATION
	const isOrdered = kinds.some((kind) => kind !== 'unordered')
	const replays = isOrdered
		? `(${replaysOf("select distinct destination from asked where kind <> 'unordered'")})`
		: '0::bigint'
	const parts: Record<TargetKind, () => string> = {
		unordered: () => unorderedPart(destination, crashes),
		ordered: () => orderedPart(destination, crashes, hasBounds),
		keys: () => keysPart(crashes, hasBounds),
		runs: () => runsPart(crashes, hasBounds),
	}
	const columns = `${RETURNED}${isOrdered ? ', in_order' : ''}`
	const reports = kinds.includes('ordered')
		? '(select json_agg(chosen.report)::text from chosen where chosen.report is not null)'
		: 'null::text'
	return `
with clock as materialized (select {now} as ms),
asked as materialized (
	select * from json_to_recordset($1::text::json)
	as given(position int, destination text, max_rows int, window_rows int, since bigint, after_seq bigint, kind text, keys json, per_key int,
		held text[], bounds jsonb, probe boolean)
),
target as materialized (
	select * from asked where (
		select true from {s}.outbox_destinations g
		where g.destination = asked.destination and (g.operator_until > ${NOW}
			or (not asked.probe and (g.state <> 'closed' or g.paused_until > ${NOW})))) is null
),
chosen as materialized (${kinds.map((kind) => parts[kind]()).join('\n\tunion all')}
),
claimed as (
	update {s}.outbox o set
		attempts = o.attempts + 1,
		crashes = ${CRASHES},
		last_attempt_at = coalesce(o.locked_at, o.last_attempt_at),
		locked_by = $2::text,
		locked_at = ${NOW},
		lease_until = ${NOW} + $3::bigint
	where o.ctid = any(array(select at from chosen where at is not null))
	returning id, ${columns}
)
select null::text as id, null::text as destination, null::text as topic, null::text as key,
	(${circuitsOf('select distinct destination from asked')}) as payload,
	${reports} as headers, 0 as attempts, 0 as max_retries, 0::double precision as delay_ms, 0 as crashes,
	0::bigint as created_at, clock.ms as due_at, null::bigint as expires_at, ${replays} as seq${isOrdered ? ', false as in_order' : ''}
from clock
union all
select id::text, ${columns} from claimed`
})
