/**
 * What becomes of messages, a statement a kind. Each is fenced by what names a claim, and answers one row: the ids that it changed as one
 * text, for a thousand rows would cost the client more than the database.
 */
import { MESSAGE_COLUMNS } from './tables.ts'

const list = (columns: readonly string[]): string => columns.join(', ')

/** All that is copied as it is; the rest is named by each statement. */
const COPIED = MESSAGE_COLUMNS.filter(
	(column) => column !== 'last_attempt_at' && !column.startsWith('error_'),
)
const ERRORS = ['error_type', 'error_message', 'error_fingerprint'] as const

const CHANGED = "string_agg(id::text, ',') as ids"

const UNLOCKED = 'locked_by = null, locked_at = null, lease_until = null'

const LATEST = 'coalesce(locked_at, last_attempt_at)'

/** By way of a subquery, so that the planner does not count them: for many it might rather read the whole table. */
const ONE_OF = 'id = any((select $1::text)::uuid[])'

/** Null for all: then there is no need for the ids. */
export const SENT: string = `
with w as (
	delete from {s}.outbox where ${ONE_OF} and locked_by = $2::text and attempts = $3::int returning id
)
select case when count(*) < $4::int then coalesce(string_agg(id::text, ','), '') end as ids from w`

export const SENT_WITH_HISTORY: string = `
with w as (
	delete from {s}.outbox where ${ONE_OF} and locked_by = $2::text and attempts = $3::int returning *
), h as (
	insert into {s}.outbox_history (${list(COPIED)}, seq, last_attempt_at, ${list(ERRORS)}, ended_at)
	select ${list(COPIED)}, seq, ${LATEST}, ${list(ERRORS)}, {now} from w
)
select case when count(*) < $4::int then coalesce(string_agg(id::text, ','), '') end as ids from w`

const GIVEN = `
r as materialized (
	select * from json_to_recordset($1::text::json) as r(
		id uuid, attempt int, "claimedAt" bigint, "inMs" double precision, "delayMs" double precision,
		cause text, "afterDeadLetter" text, "refundAttempt" boolean, type text, message text, fingerprint text)
), n as materialized (select {now} as ms)`

const HELD = 'o.id = r.id and o.locked_by = $2::text and o.attempts = r.attempt'

/** By this very claim. Those that were sent are deleted and never come back: for them the attempt is enough. */
const HELD_STILL = `${HELD} and o.locked_at = coalesce(r."claimedAt", o.locked_at)`

/** Rounded up, and no further than a Date can tell. */
const DUE = 'least((select ms from n) + ceil(coalesce(r."inMs", 0)), 8640000000000000)::bigint'

export const RETRY: string = `
with ${GIVEN}, w as (
	update {s}.outbox o set due_at = ${DUE}, delay_ms = r."delayMs", crashes = 0, last_attempt_at = ${LATEST},
		error_type = r.type, error_message = r.message, error_fingerprint = r.fingerprint, ${UNLOCKED}
	from r where ${HELD_STILL} returning o.id
)
select ${CHANGED} from w`

export const RELEASE: string = `
with ${GIVEN}, w as (
	update {s}.outbox o set attempts = o.attempts - 1, ${UNLOCKED},
		due_at = case when r."inMs" is null then o.due_at else ${DUE} end
	from r where ${HELD_STILL} returning o.id
)
select ${CHANGED} from w`

const FREE = '(o.lease_until is null or o.lease_until <= (select ms from n))'

/** What was not even tried has the attempts that it had before the claim. */
const TRIED = 'attempts - (coalesce("refundAttempt", false))::int'

/** Without an error of its own a dead letter keeps that of its latest failure. */
export const DEAD: string = `
with ${GIVEN}, w as (
	delete from {s}.outbox o using r where ${HELD_STILL}
	returning o.*, r.cause, r."afterDeadLetter", r."refundAttempt", r.type, r.message, r.fingerprint
), followers as (
	delete from {s}.outbox o using w
	where w."afterDeadLetter" = 'dead-letter-rest' and o.destination = w.destination and o.key = w.key and o.seq > w.seq and ${FREE}
		and not exists (select from r where r.id = o.id)
	returning o.*
), d as (
	insert into {s}.outbox_dead (${list(COPIED)}, seq, last_attempt_at, ${list(ERRORS)}, died_at, cause, blocks)
	select ${list(COPIED.map((column) => (column === 'attempts' ? TRIED : column)))}, seq,
		case when "refundAttempt" then last_attempt_at else ${LATEST} end,
		case when type is null then error_type else type end,
		case when type is null then error_message else message end,
		case when type is null then error_fingerprint else fingerprint end,
		(select ms from n), cause, "afterDeadLetter" <> 'skip' and key is not null
	from w
	union all
	select ${list(COPIED)}, seq, ${LATEST}, ${list(ERRORS)}, (select ms from n), 'predecessor-dead', true from followers
)
select ${CHANGED} from w`

export const RENEW: string = `
with w as (
	update {s}.outbox o set lease_until = {now} + $3::bigint
	from json_to_recordset($1::text::json) as r(id uuid, attempt int)
	where ${HELD} returning o.id
)
select ${CHANGED} from w`
