/**
 * Moves sent messages from the history back into the queue, in one statement: `moved` are the messages. Rows
 * that another transaction holds are awaited and not skipped: they are gone afterwards, and a caller that
 * finds nothing reads the state that the other transaction has left.
 */
import type { PostgresExecutor } from '../../../sql/postgres-executor.ts'
import type { OutboxStore } from '../store.ts'
import { auditSql, countReplays, MOVED_IDS, RESET } from './dead-letters.ts'
import { filterSql, Parameters } from './messages.ts'
import { MESSAGE_COLUMNS } from './schema.ts'

/** What a replay resets, what says that the message was delivered, and an expiry that would end it now. */
const RESENT: Readonly<Record<string, string>> = {
	...RESET,
	last_attempt_at: 'null',
	error_type: 'null',
	error_message: 'null',
	error_fingerprint: 'null',
	expires_at: 'case when moved.expires_at > {now} then moved.expires_at end',
}

const VALUES = MESSAGE_COLUMNS.map((column) => RESENT[column] ?? `moved.${column}`).join(', ')

/**
 * A queued message has its dedupe key, unless a later message took it after it had expired. The key expires
 * now: it is free again when the message is sent. Sorted as for an insert, so that two never wait for each
 * other.
 */
const TAKE_KEYS = `, keyed as (
	insert into {s}.outbox_dedupe (dedupe_key, id, expires_at)
	select dedupe_key, id, {now} from moved where dedupe_key is not null order by dedupe_key, seq
	on conflict (dedupe_key) do nothing
)`

export const resendOperations = (executor: PostgresExecutor): Pick<OutboxStore, 'resend'> => ({
	async resend(filter, limit, operator) {
		const { status = 'sent' } = filter
		if (status !== 'sent') return []
		const parameters = new Parameters()
		const where = filterSql('outbox_history', { ...filter, status }, parameters)
		const sql = `
	with moved as (
		delete from {s}.outbox_history where id = any(array(
			select id from {s}.outbox_history where ${where}
			order by seq limit ${parameters.add(limit, 'int')} for update
		)) returning *
	), inserted as (
		insert into {s}.outbox (${MESSAGE_COLUMNS.join(', ')}, seq, replayed)
		select ${VALUES}, moved.seq, true from moved
	)${TAKE_KEYS}${countReplays()}${auditSql('resend', operator, null, parameters, 'null')}${MOVED_IDS}`
		return (await executor.runOnce<{ id: string }>(sql, parameters.values)).map(({ id }) => id)
	},
})
