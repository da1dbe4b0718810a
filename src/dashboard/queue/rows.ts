/** Turns records of an outbox into what the page shows, with hidden secrets. */
import type { MessageAttempt } from '../../outbox/diagnostics/attempts.ts'
import type { MessageRecord } from '../../outbox/message/message.ts'
import type { AuditRecord } from '../../outbox/operator/audit.ts'
import type { AttemptRow, AuditRow, MessageRow, MessageStatus } from '../contract.ts'
import { jsonText } from './payload-path.ts'
import type { QueueSettings } from './settings.ts'

/** Headers whose values are secrets in any form. */
const SECRET_HEADER = /auth|cookie|secret|token|passw|credential|session|(api|access|private)[-_.]?key/i

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
	const headers = record.changes?.['headers'] as Readonly<Record<string, string>> | undefined
	const shown =
		settings.payloads === 'hidden'
			? facts
			: { ...record.changes, ...(headers && { headers: shownHeaders(headers, settings) }) }
	return {
		at: record.at.getTime(),
		by: record.by,
		action: record.action,
		destination: record.destination,
		messageId: record.messageId ?? null,
		reason: textOrNull(record.reason, 'reason', settings),
		details: record.changes ? settings.redact(JSON.stringify(shown), 'details') : null,
	}
}

const TOO_DEEP = '[not shown: the values are nested too deeply]'

/** Returns the payload as text; null if payloads are hidden. */
export function payloadText(payload: unknown, { payloads }: QueueSettings): string | null {
	if (payloads === 'hidden') return null
	const json = jsonText(payload)
	if (json === undefined) return TOO_DEEP
	return indentLength(json) > MAX_INDENT ? json : JSON.stringify(payload, null, 2)
}

/** Each line repeats the indent, so that a small payload with deep values becomes a text of hundreds of megabytes. */
const MAX_INDENT = 1_000_000

/** Returns how much longer the JSON becomes with an indent. */
function indentLength(json: string): number {
	let [depth, length, isText] = [0, 0, false]
	for (let at = 0; at < json.length; at++) {
		const char = json.charAt(at)
		if (char === '"') isText = !isText
		else if (isText) at += Number(char === '\\')
		else if ('{}[],'.includes(char)) {
			if (char !== ',') depth += char === '{' || char === '[' ? 1 : -1
			length += 1 + 2 * depth
		}
	}
	return length
}

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
