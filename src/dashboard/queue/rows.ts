/** Turns records of an outbox into what the page shows, with hidden secrets. */
import type { MessageAttempt } from '../../outbox/diagnostics/attempts.ts'
import type { MessageRecord } from '../../outbox/message/message.ts'
import type { AuditRecord } from '../../outbox/operator/audit.ts'
import type { AttemptRow, AuditRow, MessageRow, MessageStatus } from '../contract.ts'
import type { QueueSettings } from './settings.ts'

/** Headers whose values are secrets in any form. */
const SECRET_HEADER = /authorization|cookie|secret|token|password|api-?key/i

const toMs = (date: Date | undefined): number | null => date?.getTime() ?? null

const textOrNull = (text: string | undefined, field: string, { redact }: QueueSettings): string | null =>
	text === undefined ? null : redact(text, field)

const errorOf = (
	type: string | undefined,
	message: string | undefined,
	settings: QueueSettings,
): string | null =>
	type === undefined ? null : settings.redact(message ? `${type}: ${message}` : type, 'error')

export const statusOf = ({ status }: MessageRecord): MessageStatus =>
	status === 'processing' ? 'in-flight' : status

export const toMessageRow = (record: MessageRecord, settings: QueueSettings): MessageRow => ({
	id: record.id,
	topic: record.topic,
	destination: record.destination,
	key: record.key ?? null,
	status: statusOf(record),
	attempts: record.attempts,
	createdAt: record.createdAt.getTime(),
	dueAt: toMs(record.nextRetryAt),
	endedAt: toMs(record.endedAt),
	cause: record.cause ?? null,
	error: errorOf(record.lastError?.type, record.lastError?.message, settings),
})

export const toAttemptRow = (attempt: MessageAttempt, settings: QueueSettings): AttemptRow => ({
	attempt: attempt.attempt,
	startedAt: attempt.startedAt.getTime(),
	durationMs: attempt.durationMs,
	relay: attempt.relay,
	outcome: attempt.outcome,
	statusCode: attempt.statusCode ?? null,
	error: errorOf(attempt.errorType, attempt.errorMessage, settings),
	// A response may quote the request.
	response: settings.payloads === 'hidden' ? null : textOrNull(attempt.response, 'response', settings),
})

export function toAuditRow(record: AuditRecord, settings: QueueSettings): AuditRow {
	const { payload: _, headers: __, ...facts } = record.changes ?? {}
	const shown = settings.payloads === 'hidden' ? facts : record.changes
	return {
		at: record.at.getTime(),
		by: record.by,
		action: record.action,
		destination: record.destination,
		messageId: record.messageId ?? null,
		reason: textOrNull(record.reason, 'reason', settings),
		details: record.changes && shown ? settings.redact(JSON.stringify(shown), 'details') : null,
	}
}

/** Returns the payload as text; null if payloads are hidden. */
export const payloadText = (payload: unknown, { payloads }: QueueSettings): string | null =>
	payloads === 'hidden' ? null : JSON.stringify(payload, null, 2)

export function shownHeaders(
	headers: Readonly<Record<string, string>>,
	{ payloads, redact }: QueueSettings,
): Readonly<Record<string, string>> {
	if (payloads === 'hidden') return {}
	return Object.fromEntries(
		Object.entries(headers).map(([name, value]) => [
			name,
			SECRET_HEADER.test(name) ? '***' : redact(String(value), name),
		]),
	)
}
