/** All that is known about one message. */
import type { MessageAttempt } from '../../outbox/diagnostics/attempts.ts'
import type { MessageRecord } from '../../outbox/message/message.ts'
import type { AuditRecord } from '../../outbox/operator/audit.ts'
import type { Outbox } from '../../outbox/outbox.ts'
import type { MessageRow, MessageStatus, MessageView } from '../contract.ts'
import { messageActions } from './commands.ts'
import { payloadText, shownHeaders, statusOf, toAttemptRow, toAuditRow, toMessageRow } from './rows.ts'
import type { QueueSettings } from './settings.ts'

/** Retries without limit may have made more. */
const MAX_ATTEMPTS = 1_000
const MAX_AUDIT = 100

/** Returns the status, which is `discarded` for a dead letter that only the history has. */
async function exactStatus(outbox: Outbox, record: MessageRecord): Promise<MessageStatus> {
	if (record.status !== 'dead') return statusOf(record)
	return (await outbox.dead.count({ ids: [record.id] }, { limit: 1 })).count > 0 ? 'dead' : 'discarded'
}

export async function findRow(
	outbox: Outbox,
	id: string,
	settings: QueueSettings,
): Promise<MessageRow | undefined> {
	const record = await outbox.find(id)
	return record && { ...toMessageRow(record, settings), status: await exactStatus(outbox, record) }
}

export async function readMessage(
	source: string,
	outbox: Outbox,
	id: string,
	settings: QueueSettings,
): Promise<MessageView | undefined> {
	const [record, attempts, audit] = await Promise.all([
		outbox.find(id),
		outbox.attempts(id, { limit: MAX_ATTEMPTS }),
		outbox.audit({ messageId: id }, { limit: MAX_AUDIT }),
	])
	const row = record
		? { ...toMessageRow(record, settings), status: await exactStatus(outbox, record) }
		: goneRow(id, attempts, audit, settings)
	if (row === undefined) return undefined
	return {
		...row,
		why: settings.redact(await outbox.why(id), 'why'),
		payload: record ? payloadText(record.payload, settings) : null,
		headers: record ? shownHeaders(record.headers, settings) : {},
		dedupeKey: record?.dedupeKey ?? null,
		expiresAt: record?.expiresAt?.getTime() ?? null,
		lastAttemptAt: record?.lastAttemptAt?.getTime() ?? attempts.at(-1)?.startedAt.getTime() ?? null,
		timeline: attempts.map((attempt) => toAttemptRow(attempt, settings)),
		hasAttemptLog: attempts.length > 0 || row.attempts === 0,
		actions: messageActions(source, row, settings.flags),
		audit: audit.map((one) => toAuditRow(one, settings)),
	}
}

/** Attempt log and audit outlive a message that was sent or discarded and is in no history. */
function goneRow(
	id: string,
	attempts: readonly MessageAttempt[],
	audit: readonly AuditRecord[],
	settings: QueueSettings,
): MessageRow | undefined {
	const last = attempts.at(-1)
	const [change] = audit
	const isDiscarded = change?.action === 'discard'
	if (!isDiscarded && last?.outcome !== 'sent') return undefined
	const endedAt = isDiscarded
		? change.at.getTime()
		: (last?.startedAt.getTime() ?? 0) + (last?.durationMs ?? 0)
	return {
		id,
		topic: change?.topic ?? '',
		destination: last?.destination ?? change?.destination ?? '',
		key: change?.key ?? null,
		status: isDiscarded ? 'discarded' : 'sent',
		attempts: last?.attempt ?? 0,
		// The time is in the id, which is a UUID of version 7.
		createdAt: Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16),
		dueAt: null,
		endedAt,
		cause: isDiscarded ? (change.cause ?? null) : null,
		error: last ? toAttemptRow(last, settings).error : null,
	}
}
