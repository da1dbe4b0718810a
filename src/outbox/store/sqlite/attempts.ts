/** The attempt log: what each call of a handler resulted in. */
import type { SqliteConnection, SqlValue } from '../../../sql/sqlite-connection.ts'
import { isBadRow } from '../../../sql/sqlite-errors.ts'
import type { AttemptRow, NewAttempt, Settlement } from '../rows.ts'
import { attemptsOf, sanitizeAttempt, timeAfter, withoutTexts } from '../stored-values.ts'
import type { Operations } from './executor.ts'

const COLUMNS = {
	messageId: 'message_id',
	destination: 'destination',
	attempt: 'attempt',
	relay: 'relay',
	startedAt: 'started_at',
	durationMs: 'duration_ms',
	outcome: 'outcome',
	statusCode: 'status_code',
	errorType: 'error_type',
	errorMessage: 'error_message',
	response: 'response',
} as const satisfies Record<keyof AttemptRow, string>

const NAMES = Object.keys(COLUMNS) as (keyof AttemptRow)[]
const LIST = Object.values(COLUMNS).join(', ')

/** An attempt that is stored already stays: a settlement may be written twice. */
const INSERT = `INSERT INTO yaoki_outbox_attempts (${LIST}, expires_at) VALUES (${NAMES.map(() => '?').join(', ')}, ?)
	ON CONFLICT DO NOTHING`

const SELECT = `SELECT ${LIST} FROM yaoki_outbox_attempts
	WHERE message_id = ?1 AND (started_at, attempt, relay) > (?3, ?4, ?5)
	ORDER BY started_at, attempt, relay LIMIT ?2`

const DROP = `DELETE FROM yaoki_outbox_attempts WHERE rowid IN
	(SELECT rowid FROM yaoki_outbox_attempts WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`

/**
 * Settles, and logs the attempts in the same transaction: `settle` calls its argument with the lost claims
 * there. If the attempts cannot be written, it settles without them.
 */
export async function settleWithAttempts(
	connection: SqliteConnection,
	settlements: readonly Settlement[],
	settle: (log: (lost: readonly string[]) => void) => Promise<readonly string[]>,
): Promise<readonly string[]> {
	if (!settlements.some(({ log }) => log)) return settle(() => {})
	let isRejected = false
	try {
		return await settle((lost) => {
			isRejected = true
			insertAttempts(connection, attemptsOf(settlements, lost))
			isRejected = false
		})
	} catch (error) {
		if (!isRejected) throw error
		return settle(() => {})
	}
}

/** Leaves out the texts of an attempt that cannot be written with them. */
function insertAttempts(connection: SqliteConnection, attempts: readonly NewAttempt[]): void {
	for (const attempt of attempts) {
		try {
			insertOne(connection, sanitizeAttempt(attempt))
		} catch (error) {
			if (!isBadRow(error)) throw error
			insertOne(connection, withoutTexts(attempt))
		}
	}
}

function insertOne(connection: SqliteConnection, attempt: NewAttempt): void {
	const values = NAMES.map((name) => attempt[name])
	connection.run(INSERT, ...values, timeAfter(connection.now(), attempt.keepForMs))
}

const toAttempt = (row: readonly SqlValue[]): AttemptRow =>
	Object.fromEntries(NAMES.map((name, at) => [name, row[at]])) as unknown as AttemptRow

export const attemptOperations = (
	connection: SqliteConnection,
): Operations<'logAttempts' | 'attempts' | 'dropAttempts'> => ({
	logAttempts: (attempts) => insertAttempts(connection, attempts),
	attempts(messageId, limit, after) {
		const { startedAt = -1, attempt = 0, relay = '' } = after ?? {}
		return connection.rows(SELECT, messageId, limit, startedAt, attempt, relay).map(toAttempt)
	},
	dropAttempts: (limit) => connection.run(DROP, connection.now(), limit),
})
