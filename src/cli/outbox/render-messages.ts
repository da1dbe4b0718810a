/**
 * Messages as text. In a list, errors are below their message: an error text has any length and does not fit
 * into a table. Texts of users are sanitized before they are printed.
 */
import type { DeadLetterGroup } from '../../outbox/dead-letters/options.ts'
import type { MessageRecord } from '../../outbox/message/message.ts'
import { formatCount, formatNumber } from '../../text/format.ts'
import { sanitizeLine, sanitizeText } from '../../text/sanitize.ts'
import { formatPairs } from '../../text/table.ts'
import { displayWidth, pad } from '../../text/width.ts'
import type { CommandIo } from '../io.ts'
import { relativeTo } from './parse-time.ts'

type Format = Pick<CommandIo, 'style' | 'columns' | 'runtime'>

export const INDENT = '    '

export function renderList(messages: readonly MessageRecord[], { style, runtime }: Format): string {
	if (messages.length === 0) return 'No messages match.'
	const now = runtime.wallNow()
	const rows = messages.map((message) => [
		message.id,
		message.cause ?? message.status,
		message.topic === message.destination ? message.topic : `${message.topic} to ${message.destination}`,
		message.key ?? '',
		formatCount(message.attempts, 'attempt'),
		latestEvent(message, now),
	])
	return alignColumns(rows)
		.flatMap((line, index) => {
			const error = messages[index]?.lastError
			return error ? [line, style.dim(INDENT + sanitizeLine(`${error.type}: ${error.message}`))] : [line]
		})
		.join('\n')
}

function latestEvent(
	{ status, endedAt, lockedAt, nextRetryAt, createdAt }: MessageRecord,
	now: number,
): string {
	if (endedAt) return `${status === 'dead' ? 'died' : 'sent'} ${relativeTo(now, endedAt)}`
	if (status === 'processing' && lockedAt) return `claimed ${relativeTo(now, lockedAt)}`
	return nextRetryAt ? `due ${relativeTo(now, nextRetryAt)}` : `enqueued ${relativeTo(now, createdAt)}`
}

/** Aligns cells to the left and leaves out empty columns. */
export function alignColumns(rows: readonly (readonly string[])[]): readonly string[] {
	const cells = rows.map((row) => row.map(sanitizeLine))
	const widths: number[] = []
	for (const row of cells)
		for (const [column, cell] of row.entries())
			widths[column] = Math.max(widths[column] ?? 0, displayWidth(cell))
	return cells.map((row) =>
		row
			.map((cell, column) => pad(cell, widths[column] ?? 0))
			.filter((cell) => cell !== '')
			.join('  ')
			.trimEnd(),
	)
}

export function renderGroups(groups: readonly DeadLetterGroup[], { style, runtime }: Format): string {
	if (groups.length === 0) return 'No dead letters match.'
	const now = runtime.wallNow()
	return groups
		.map((group) => {
			const { fingerprint, cause, destination, errorType, errorMessage, count, isCapped, firstAt, lastAt } =
				group
			const error = [errorType, errorMessage].filter(Boolean).join(': ')
			// A group without an error has no fingerprint; it is selected by its cause.
			const suffix = fingerprint === '' ? '' : `  [${sanitizeLine(fingerprint)}]`
			const times = `first ${relativeTo(now, firstAt)}, last ${relativeTo(now, lastAt)}`
			return [
				`${style.bold(`${formatNumber(count)}${isCapped ? '+' : ''}`)} to ${sanitizeLine(`${destination}, ${cause}`)}${suffix}`,
				...(error === '' ? [] : [INDENT + sanitizeLine(error)]),
				style.dim(`${INDENT}${times}, for example ${group.exampleId}`),
			].join('\n')
		})
		.join('\n')
}

/** A message whose payload and headers may be left out. */
type ShownMessage = Omit<MessageRecord, 'payload' | 'headers'> & Partial<MessageRecord>

export function renderMessage(message: ShownMessage, why: string, format: Format): string {
	const { style, columns, runtime } = format
	const now = runtime.wallNow()
	const when = (moment: Date | undefined) => moment && `${moment.toISOString()} (${relativeTo(now, moment)})`
	const { lastError, lockedBy, cause, maxRetries, crashes } = message
	const limit =
		maxRetries === undefined ? '' : `, ${maxRetries === Infinity ? 'no limit' : `maxRetries ${maxRetries}`}`
	const fields: readonly (readonly [string, string | undefined])[] = [
		['id', message.id],
		['status', cause === undefined ? message.status : `${message.status} (${cause})`],
		['topic', message.topic],
		['destination', message.destination],
		['key', message.key],
		['dedupe key', message.dedupeKey],
		['attempts', `${message.attempts}${limit}`],
		['crashes', crashes === 0 ? undefined : formatCount(crashes, 'relay process', 'relay processes')],
		['enqueued', when(message.createdAt)],
		['due', message.endedAt ? undefined : when(message.nextRetryAt)],
		['last attempt', when(message.lastAttemptAt)],
		['last error', lastError && `${lastError.type}: ${lastError.message} [${lastError.fingerprint}]`],
		[
			'claimed by',
			lockedBy && `${lockedBy}, since ${when(message.lockedAt)}, lease until ${when(message.leaseUntil)}`,
		],
		['expires', when(message.expiresAt)],
		['ended', when(message.endedAt)],
		...Object.entries(message.headers ?? {}).map(([name, value]) => [`header ${name}`, value] as const),
	]
	const pairs = fields.flatMap(([name, value]) =>
		value === undefined ? [] : [[sanitizeLine(name), sanitizeLine(value)] as const],
	)
	return [
		sanitizeLine(why),
		'',
		...formatPairs(pairs, columns),
		...('payload' in message
			? ['', style.bold('payload'), sanitizeText(JSON.stringify(message.payload, undefined, 2))]
			: []),
	].join('\n')
}
