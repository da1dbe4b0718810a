/**
 * Messages as lines. Not as a table: an error text is as long as it is, and beside an id there is no room for it, so it stands on a
 * line of its own.
 */
import type { DeadLetterGroup } from '../../outbox/dead-letters/options.ts'
import type { MessageRecord } from '../../outbox/message/message.ts'
import { formatNumber } from '../../text/format.ts'
import { sanitizeLine } from '../../text/sanitize.ts'
import { displayWidth, pad } from '../../text/width.ts'
import type { CommandIo } from '../io.ts'
import { relativeText } from './times.ts'

type Page = Pick<CommandIo, 'style' | 'runtime'>

const INDENT = '    '

export function listText(messages: readonly MessageRecord[], { style, runtime }: Page): string {
	if (messages.length === 0) return 'No message matches.'
	const now = runtime.wallNow()
	const rows = messages.map((message) => [
		message.id,
		message.cause ?? message.status,
		message.topic === message.destination ? message.topic : `${message.topic} to ${message.destination}`,
		message.key ?? '',
		timesTried(message.attempts),
		momentOf(message, now),
	])
	return aligned(rows)
		.flatMap((line, index) => {
			const error = messages[index]?.lastError
			return error ? [line, style.dim(INDENT + sanitizeLine(`${error.type}: ${error.message}`))] : [line]
		})
		.join('\n')
}

const timesTried = (attempts: number): string =>
	attempts === 0 ? 'never tried' : `tried ${formatNumber(attempts)} ${attempts === 1 ? 'time' : 'times'}`

/** The one time that says most about where it stands. */
function momentOf({ status, endedAt, lockedAt, nextRetryAt, createdAt }: MessageRecord, now: number): string {
	if (endedAt) return `${status === 'dead' ? 'died' : 'sent'} ${relativeText(endedAt, now)}`
	if (status === 'processing' && lockedAt) return `claimed ${relativeText(lockedAt, now)}`
	return nextRetryAt ? `due ${relativeText(nextRetryAt, now)}` : `enqueued ${relativeText(createdAt, now)}`
}

function aligned(rows: readonly (readonly string[])[]): readonly string[] {
	const widths: number[] = []
	for (const row of rows)
		for (const [column, cell] of row.entries())
			widths[column] = Math.max(widths[column] ?? 0, displayWidth(sanitizeLine(cell)))
	return rows.map((row) =>
		row
			.map((cell, column) => pad(sanitizeLine(cell), widths[column] ?? 0))
			.filter((_, column) => (widths[column] ?? 0) > 0)
			.join('  ')
			.trimEnd(),
	)
}

export function groupsText(groups: readonly DeadLetterGroup[], { style, runtime }: Page): string {
	if (groups.length === 0) return 'No dead letter matches.'
	const now = runtime.wallNow()
	return groups
		.map(
			({ fingerprint, cause, destination, errorType, errorMessage, count, firstAt, lastAt, exampleId }) => {
				const error = [errorType, errorMessage].filter(Boolean).join(': ')
				// What died without an error has none; its cause chooses it.
				const print = fingerprint === '' ? '' : `  [${sanitizeLine(fingerprint)}]`
				return [
					`${style.bold(formatNumber(count))} at ${sanitizeLine(destination)}, ${cause}${print}`,
					...(error === '' ? [] : [INDENT + sanitizeLine(error)]),
					style.dim(
						`${INDENT}first ${relativeText(firstAt, now)}, last ${relativeText(lastAt, now)}, such as ${exampleId}`,
					),
				].join('\n')
			},
		)
		.join('\n')
}
