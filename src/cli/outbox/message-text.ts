/** One message as a person reads it. Texts of users are cleaned of what a terminal would obey. */
import type { MessageRecord } from '../../outbox/message/message.ts'
import { sanitizeLine, sanitizeText } from '../../text/sanitize.ts'
import { formatPairs } from '../../text/table.ts'
import type { CommandIo } from '../io.ts'
import { relativeText } from './times.ts'

export function messageText(
	message: MessageRecord,
	why: string,
	{ style, columns, runtime }: Pick<CommandIo, 'style' | 'columns' | 'runtime'>,
): string {
	const now = runtime.wallNow()
	const when = (at: Date | undefined) => at && `${at.toISOString()} (${relativeText(at, now)})`
	const { lastError, lockedBy, cause, maxRetries, crashes } = message
	const retries = maxRetries === undefined ? '' : `, may be retried ${maxRetries} times`
	const facts: readonly (readonly [string, string | undefined])[] = [
		['id', message.id],
		['status', cause === undefined ? message.status : `${message.status} (${cause})`],
		['topic', message.topic],
		['destination', message.destination],
		['key', message.key],
		['dedupe key', message.dedupeKey],
		['attempts', `${message.attempts}${retries}`],
		['crashes', crashes === 0 ? undefined : `a process died with it ${crashes} times`],
		['enqueued', when(message.createdAt)],
		['due', message.endedAt ? undefined : when(message.nextRetryAt)],
		['last attempt', when(message.lastAttemptAt)],
		['last error', lastError && `${lastError.type}: ${lastError.message} [${lastError.fingerprint}]`],
		[
			'held by',
			lockedBy && `${lockedBy}, since ${when(message.lockedAt)}, until ${when(message.leaseUntil)}`,
		],
		['expires', when(message.expiresAt)],
		['ended', when(message.endedAt)],
		...Object.entries(message.headers).map(([name, value]) => [`header ${name}`, value] as const),
	]
	const rows = facts.flatMap(([name, value]): (readonly [string, string])[] =>
		value === undefined ? [] : [[sanitizeLine(name), sanitizeLine(value)]],
	)
	return [
		sanitizeText(why),
		'',
		...formatPairs(rows, columns),
		'',
		style.bold('payload'),
		sanitizeText(JSON.stringify(message.payload, undefined, 2)),
	].join('\n')
}
