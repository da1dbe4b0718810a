/** The attempt log: what each call of a handler resulted in. */
import type { StatementRunner } from '../../../sql/bounded-executor.ts'
import type { PostgresExecutor } from '../../../sql/postgres-executor.ts'
import { type Big, isUuid, withNumbers } from '../../../sql/postgres-values.ts'
import type { AttemptRow, NewAttempt } from '../rows.ts'
import type { AttemptLogStore } from '../store.ts'
import { MAX_TIME, sanitizeAttempt } from '../stored-values.ts'

/** An attempt that is stored already stays: a settlement may be written twice. Infinity is null in JSON. */
const INSERT = `
insert into {s}.outbox_attempts (message_id, started_at, attempt, relay, destination, duration_ms, outcome, status_code,
	error_type, error_message, response, expires_at)
select "messageId", "startedAt", attempt, relay, destination, "durationMs", outcome, "statusCode", "errorType",
	"errorMessage", response, least({now} + ceil(coalesce("keepForMs", ${MAX_TIME})), ${MAX_TIME})::bigint
from json_to_recordset($1::text::json) as r("messageId" uuid, "startedAt" bigint, attempt int, relay text,
	destination text, "durationMs" bigint, outcome text, "statusCode" int, "errorType" text, "errorMessage" text,
	response text, "keepForMs" double precision)
on conflict do nothing`

const LIST = `
select message_id::text as "messageId", destination, attempt, relay, started_at as "startedAt", duration_ms as "durationMs",
	outcome, status_code as "statusCode", error_type as "errorType", error_message as "errorMessage", response
from {s}.outbox_attempts
where message_id = $1::uuid and (started_at, attempt, relay) > ($3::bigint, $4::int, $5::text)
order by started_at, attempt, relay limit $2::int`

/** The time is a subquery, because a condition on an index cannot contain the clock itself. `deleted`: the rows. */
const DROP = `
with deleted as (
	delete from {s}.outbox_attempts where ctid = any(array(
		select ctid from {s}.outbox_attempts where expires_at <= (select {now})
		order by expires_at limit $1::int for update skip locked
	)) returning 1
)
select count(*) as count from deleted`

export async function insertAttempts(
	executor: StatementRunner,
	attempts: readonly NewAttempt[],
): Promise<void> {
	await executor.run(INSERT, [JSON.stringify(attempts.map(sanitizeAttempt))])
}

export const attemptOperations = (executor: PostgresExecutor): AttemptLogStore => ({
	async logAttempts(attempts) {
		if (attempts.length > 0) await insertAttempts(executor.bounded, attempts)
	},
	async attempts(messageId, limit, after) {
		if (!isUuid(messageId)) return []
		const { startedAt = -1, attempt = 0, relay = '' } = after ?? {}
		const rows = await executor.run<AttemptRow>(LIST, [messageId, limit, startedAt, attempt, relay])
		return rows.map((row) => withNumbers(row, ['startedAt', 'durationMs']))
	},
	async dropAttempts(limit) {
		const [row] = await executor.bounded.run<{ count: Big }>(DROP, [limit])
		return Number(row?.count)
	},
})
