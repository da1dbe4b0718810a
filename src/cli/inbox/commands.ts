/**
 * `inbox status` counts what inboxes remember; `inbox show` looks a message up; `inbox forget` lets its next
 * delivery run again; `inbox purge` deletes what is not remembered any longer.
 */
import type { InboxCounts, MarkKey, StoredMark } from '../../outbox/inbox/store/store.ts'
import { formatDuration, formatNumber } from '../../text/format.ts'
import { sanitizeLine } from '../../text/sanitize.ts'
import { formatPairs, formatTable } from '../../text/table.ts'
import { type Command, defineCommand } from '../command.ts'
import { INBOX_DATABASE_OPTIONS } from '../database/database-target.ts'
import { purgeAll } from '../database/purge-all.ts'
import { CliError, usageError } from '../errors.ts'
import type { CommandIo } from '../io.ts'
import { flag, integer, text } from '../option-tables.ts'
import { relativeTo } from '../outbox/parse-time.ts'
import { withInboxStore } from './open-inbox-store.ts'

const MESSAGE_OPTIONS = {
	...INBOX_DATABASE_OPTIONS,
	name: text('NAME', 'option "name" of the inbox', { short: 'n', default: 'inbox' }),
}

const ID = {
	id: { placeholder: 'ID', description: 'id of the message, such as its Idempotency-Key' },
} as const

const keyOf = ({ id, name }: { readonly id: string; readonly name: string }): MarkKey => {
	if (id === '') throw usageError('ID is empty.')
	return { inbox: name, messageId: id }
}

const unknownMessage = (): CliError =>
	new CliError('notFound', 'The inbox does not remember this message.', {
		hint: 'Check the id and --name: "yaoki inbox status" lists the names. A message is forgotten when its retention is over.',
	})

const MAX_COUNTED = 10_000

export const status: Command = defineCommand({
	examples: [
		['yaoki inbox status', 'how many messages each inbox remembers'],
		['yaoki inbox status --json', 'for a program'],
	],
	options: INBOX_DATABASE_OPTIONS,
	async run(args, io) {
		return withInboxStore(args, io, async (store, target) => {
			const inboxes = await store.stats(MAX_COUNTED)
			io.result({ database: target.name, inboxes }, () => renderStatus(target.name, inboxes, io))
		})
	},
})

function renderStatus(
	database: string,
	inboxes: readonly InboxCounts[],
	{ style, columns }: CommandIo,
): string {
	const title = style.bold(sanitizeLine(database))
	if (inboxes.length === 0) return `${title}\n\nNo message is remembered.`
	const rows = inboxes.map(({ inbox, marks, expired, oldestAgeMs }) => [
		sanitizeLine(inbox),
		...[marks, expired].map(({ count, isCapped }) => `${formatNumber(count)}${isCapped ? '+' : ''}`),
		oldestAgeMs === null ? '-' : formatDuration(oldestAgeMs),
	])
	const head = ['inbox', 'messages', 'expired', 'oldest']
	return `${title}\n\n${formatTable({ head, rows }, { width: columns, style })}`
}

export const show: Command = defineCommand({
	examples: [
		['yaoki inbox show 019b76db-1d30-709f-b51c-77633ed7a20f', 'when the message was processed'],
		['yaoki inbox show evt_1 --name stripe --json', 'of the inbox "stripe", for a program'],
	],
	options: MESSAGE_OPTIONS,
	positionals: ID,
	async run(args, io) {
		const key = keyOf(args)
		return withInboxStore(args, io, async (store) => {
			const found = await store.find(key)
			if (!found) throw unknownMessage()
			io.result({ ...found }, () => renderMark(found, io))
		})
	},
})

function renderMark(mark: StoredMark, { runtime, columns }: CommandIo): string {
	const when = (ms: number) => {
		const moment = new Date(ms)
		return `${moment.toISOString()} (${relativeTo(runtime.wallNow(), moment)})`
	}
	const pairs: readonly (readonly [string, string])[] = [
		['message', sanitizeLine(mark.messageId)],
		['inbox', sanitizeLine(mark.inbox)],
		['processed', when(mark.processedAt)],
		['remembered until', when(mark.expiresAt)],
	]
	return formatPairs(pairs, columns).join('\n')
}

export const forget: Command = defineCommand({
	examples: [
		['yaoki inbox forget evt_1 --name stripe', 'what would be forgotten; exit code 2'],
		['yaoki inbox forget evt_1 --name stripe --yes', 'forget it: its next delivery is processed again'],
	],
	options: {
		...MESSAGE_OPTIONS,
		yes: flag('forget it; without it only its state is printed, with exit code 2', 'y'),
	},
	positionals: ID,
	async run(args, io) {
		const key = keyOf(args)
		return withInboxStore(args, io, async (store) => {
			const found = await store.find(key)
			if (!found) throw unknownMessage()
			const processedAt = new Date(found.processedAt).toISOString()
			if (!args.yes)
				throw usageError(`This would forget a message that was processed at ${processedAt}.`, {
					hint: 'Its next delivery is processed again, so its effect may happen twice. Add --yes to confirm.',
				})
			if (!(await store.forget(key))) throw unknownMessage()
			io.result(
				{ ...key, forgotten: true },
				`Forgot a message that was processed at ${processedAt}. The sender has to send it again.`,
			)
		})
	},
})

export const purge: Command = defineCommand({
	examples: [
		['yaoki inbox purge', 'for a cron job: delete marks whose retention is over'],
		['yaoki inbox purge --batch-size 100', 'with shorter transactions'],
	],
	options: {
		...INBOX_DATABASE_OPTIONS,
		batchSize: integer('N', 'marks that one statement deletes', { min: 1, max: 100_000, default: 1_000 }),
	},
	async run(args, io) {
		return withInboxStore(args, io, async (store) => {
			await purgeAll(io, 'mark', args.batchSize, (limit) => store.purge(limit))
		})
	},
})
