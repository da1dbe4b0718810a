/** The attempts of a message as a table, oldest first. */
import type { MessageAttempt } from '../../outbox/diagnostics/attempts.ts'
import { formatNumber } from '../../text/format.ts'
import { sanitizeLine } from '../../text/sanitize.ts'
import type { CommandIo } from '../io.ts'
import { alignColumns, INDENT } from './render-messages.ts'

/** `--json` prints all of it. */
const MAX_EXCERPT = 200

export function renderAttempts(
	attempts: readonly MessageAttempt[],
	{ style }: Pick<CommandIo, 'style'>,
): string {
	const header = ['attempt', 'started', 'duration', 'outcome', 'status']
	const rows = attempts.map(({ attempt, startedAt, durationMs, outcome, statusCode }) => [
		`${attempt}`,
		startedAt.toISOString(),
		`${formatNumber(durationMs)} ms`,
		outcome,
		`${statusCode ?? '-'}`,
	])
	const [head = '', ...lines] = alignColumns([header, ...rows])
	return [head, ...lines.flatMap((line, at) => [line, ...details(attempts[at], style)])].join('\n')
}

function details(attempt: MessageAttempt | undefined, style: CommandIo['style']): readonly string[] {
	const { errorType, errorMessage, response } = attempt ?? {}
	const error = [errorType, errorMessage].filter(Boolean).join(': ')
	const excerpt = response === undefined ? '' : shorten(response)
	return [error, excerpt && `response: ${excerpt}`]
		.filter((text) => text !== '')
		.map((text) => style.dim(INDENT + sanitizeLine(text)))
}

const shorten = (text: string): string =>
	text.length > MAX_EXCERPT ? `${text.slice(0, MAX_EXCERPT)}...` : text
