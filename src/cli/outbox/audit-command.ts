/** `outbox audit`: what operators did, newest first. */
import type { AuditRecord } from '../../outbox/operator/audit.ts'
import { sanitizeLine } from '../../text/sanitize.ts'
import { type Command, defineCommand } from '../command.ts'
import { DATABASE_OPTIONS } from '../database/database-target.ts'
import type { CommandIo } from '../io.ts'
import { flag, integer, text } from '../option-tables.ts'
import { REDACT_OPTION } from './filter-options.ts'
import { withOutbox } from './open-outbox.ts'
import { parseMoment } from './parse-time.ts'
import { alignColumns, INDENT } from './render-messages.ts'

export const audit: Command = defineCommand({
	examples: [
		['yaoki outbox audit --since 1d', 'what was done in the last day'],
		[
			'yaoki outbox audit --destination billing --action discard --json',
			'discarded messages with their payloads',
		],
	],
	options: {
		...DATABASE_OPTIONS,
		action: text('ACTION', 'only this action', {
			choices: [
				'retry',
				'expire',
				'replay',
				'edit',
				'discard',
				'resend',
				'pause',
				'resume',
				'close-circuit',
				'create-endpoint',
				'change-endpoint',
				'rotate-secret',
				'disable-endpoint',
				'enable-endpoint',
				'delete-endpoint',
			],
		}),
		destination: text('NAME', 'changes of this destination and its messages'),
		by: text('NAME', 'changes by this person or process'),
		messageId: text('ID', 'changes of this message'),
		since: text('2h|DATE', 'changes since then'),
		until: text('2h|DATE', 'changes before then'),
		limit: integer('N', 'maximum number of records', { short: 'n', default: 100, min: 1, max: 10_000 }),
		before: integer('N', 'continue before this record', { min: 0 }),
		noPayload: flag('leave out payloads, headers and changes'),
		...REDACT_OPTION,
	},
	async run(args, io) {
		const { action, destination, by, messageId, since, until, limit, before, noPayload } = args
		const now = io.runtime.wallNow()
		const filter = {
			action,
			destination,
			by,
			messageId,
			since: since === undefined ? undefined : parseMoment('--since', since, now),
			until: until === undefined ? undefined : parseMoment('--until', until, now),
		}
		return withOutbox(args, io, async ({ outbox }) => {
			const found = await outbox.audit(filter, { limit, before })
			const shown = noPayload ? found.map(withoutContent) : found
			io.result(shown, () => renderAudit(shown, io))
			if (found.length === limit)
				io.note(`There may be more. Continue with --before ${found.at(-1)?.id}, or raise --limit.`)
		})
	},
})

type ShownRecord = Omit<AuditRecord, 'payload' | 'headers' | 'changes'> & Partial<AuditRecord>

const withoutContent = ({ payload: _, headers: __, changes: ___, ...record }: AuditRecord): ShownRecord =>
	record

function renderAudit(records: readonly ShownRecord[], { style }: Pick<CommandIo, 'style'>): string {
	if (records.length === 0) return 'No records match.'
	const rows = records.map(({ at, action, by, destination, messageId = '', reason = '' }) => [
		...[at.toISOString(), action, by, destination, messageId, reason],
	])
	return alignColumns(rows)
		.flatMap((line, index) => {
			const { payload, changes } = records[index] ?? {}
			return [
				line,
				...(payload === undefined ? [] : [style.dim(`${INDENT}original payload ${shortJson(payload)}`)]),
				...(changes === undefined ? [] : [style.dim(`${INDENT}changes ${shortJson(changes)}`)]),
			]
		})
		.join('\n')
}

/** A payload may have a megabyte; `--json` prints it in full. */
const MAX_LENGTH = 200

function shortJson(value: unknown): string {
	const json = JSON.stringify(value) ?? ''
	return sanitizeLine(json.length > MAX_LENGTH ? `${json.slice(0, MAX_LENGTH)}...` : json)
}
