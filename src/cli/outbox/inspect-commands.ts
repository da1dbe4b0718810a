/** The commands that only read: `outbox status`, `outbox list`, `outbox show` and `outbox why`. */
import { describeOperatorPause } from '../../outbox/diagnostics/why.ts'
import type { Outbox } from '../../outbox/index.ts'
import type { MessageRecord } from '../../outbox/message/message.ts'
import type { OutboxStore } from '../../outbox/store/store.ts'
import { sanitizeLine } from '../../text/sanitize.ts'
import { type Command, defineCommand } from '../command.ts'
import { DATABASE_OPTIONS } from '../database/database-target.ts'
import { CliError, usageError } from '../errors.ts'
import type { CommandIo } from '../io.ts'
import { flag, integer, text } from '../option-tables.ts'
import { EXAMPLE_ID, FILTER_OPTIONS, REDACT_OPTION, toFilter } from './filter-options.ts'
import { withOutbox } from './open-outbox.ts'
import { renderAttempts } from './render-attempts.ts'
import { renderGroups, renderList, renderMessage } from './render-messages.ts'
import { renderStatus } from './render-status.ts'

export const status: Command = defineCommand({
	examples: [
		['yaoki outbox status', 'totals, destinations, the next hour, relays'],
		['yaoki outbox status --json', 'the same for a program'],
	],
	options: DATABASE_OPTIONS,
	run: (args, io) =>
		withOutbox(args, io, async ({ outbox, store, target: { name } }) => {
			const [stats, endpoints] = await Promise.all([outbox.stats(), store.endpoints?.stats()])
			io.result({ database: name, ...stats, endpoints }, () => renderStatus(name, stats, io, endpoints))
		}),
})

const NO_PAYLOAD = flag('leave out payload and headers')

const withoutContent = ({
	payload: _,
	headers: __,
	...message
}: MessageRecord): Omit<MessageRecord, 'payload' | 'headers'> => message

export const list: Command = defineCommand({
	examples: [
		['yaoki outbox list --status dead --since 2h', 'dead letters of the last two hours'],
		['yaoki outbox list --groups', 'dead letters by cause, largest groups first'],
		['yaoki outbox list --key order-17 --json', 'all messages of one order, for a program'],
	],
	options: {
		...DATABASE_OPTIONS,
		status: text('STATUS', 'messages with this status; default: the queue and the dead letters', {
			choices: ['pending', 'processing', 'sent', 'dead'],
		}),
		...FILTER_OPTIONS,
		groups: flag('group dead letters by cause, destination and error', 'g'),
		limit: integer('N', 'maximum number of results', { short: 'n', default: 100, min: 1, max: 10_000 }),
		after: text('ID', 'continue after this message'),
		noPayload: NO_PAYLOAD,
		...REDACT_OPTION,
	},
	async run(args, io) {
		const { groups, limit, after, status: wanted } = args
		const filter = toFilter(args, io.runtime.wallNow())
		if (groups && wanted !== undefined && wanted !== 'dead')
			throw usageError(`--groups shows dead letters and cannot be combined with --status ${wanted}.`)
		if (groups && after !== undefined) throw usageError('--groups cannot be combined with --after.')
		return withOutbox(args, io, async ({ outbox, store }) => {
			if (groups) {
				const found = await outbox.dead.groups(filter, { limit })
				io.result(found, () => renderGroups(found, io))
			} else {
				const found = await outbox.list(filter, { limit, after })
				io.result(args.noPayload ? found.map(withoutContent) : found, () => renderList(found, io))
				if (found.length === limit)
					io.note(`There may be more. Continue with --after ${found.at(-1)?.id}, or raise --limit.`)
				await notePauses(found, store, io)
			}
		})
	},
})

/** Notes explain why listed messages are not sent. Standard output has only messages, for programs. */
async function notePauses(
	messages: readonly MessageRecord[],
	store: OutboxStore,
	io: CommandIo,
): Promise<void> {
	const waiting = messages.filter(({ status }) => status === 'pending' || status === 'processing')
	const names = [...new Set(waiting.map(({ destination }) => destination))]
	for (const { destination, operatorPause } of names.length > 0 ? await store.circuits(names) : [])
		if (operatorPause)
			io.note(sanitizeLine(`${destination} is paused ${describeOperatorPause(operatorPause)}.`))
}

const MESSAGE_ID = { id: { placeholder: 'ID', description: 'id of the message' } } as const

async function requireMessage(outbox: Outbox, id: string): Promise<MessageRecord> {
	const message = await outbox.find(id)
	if (message) return message
	throw new CliError('notFound', `Message "${id}" does not exist.`, {
		hint: 'Sent messages are deleted unless history is kept. List the others with yaoki outbox list.',
	})
}

export const show: Command = defineCommand({
	examples: [
		[`yaoki outbox show ${EXAMPLE_ID}`, 'status, attempts, last error and payload'],
		[`yaoki outbox show ${EXAMPLE_ID} --redact email,iban`, 'without personal data'],
	],
	options: { ...DATABASE_OPTIONS, noPayload: NO_PAYLOAD, ...REDACT_OPTION },
	positionals: MESSAGE_ID,
	run: ({ id, ...args }, io) =>
		withOutbox(args, io, async ({ outbox }) => {
			const message = await requireMessage(outbox, id)
			const reason = await outbox.why(message.id)
			const shown = args.noPayload ? withoutContent(message) : message
			io.result({ ...shown, why: reason }, () => renderMessage(shown, reason, io))
		}),
})

/** More attempts than the default number of retries allows for, several replays included. */
const MAX_ATTEMPTS = 100

export const why: Command = defineCommand({
	examples: [
		[
			`yaoki outbox why ${EXAMPLE_ID}`,
			'what the message waits for: a retry, a paused destination, a relay, ...',
		],
		[`yaoki outbox why ${EXAMPLE_ID} --json`, 'the same for a program, with the logged attempts in full'],
	],
	options: { ...DATABASE_OPTIONS, ...REDACT_OPTION },
	positionals: MESSAGE_ID,
	run: ({ id, ...args }, io) =>
		withOutbox(args, io, async ({ outbox }) => {
			const attempts = await outbox.attempts(id, { limit: MAX_ATTEMPTS })
			// The log outlives a message that was sent.
			const messageId = attempts.length > 0 ? id.toLowerCase() : (await requireMessage(outbox, id)).id
			const reason = await outbox.why(messageId)
			io.result({ id: messageId, why: reason, attempts }, () => {
				const text = sanitizeLine(reason)
				return attempts.length === 0 ? text : `${text}\n\n${renderAttempts(attempts, io)}`
			})
			if (attempts.length === MAX_ATTEMPTS)
				io.note(
					`These are the first ${MAX_ATTEMPTS} attempts. outbox.attempts(id, { after }) returns the others.`,
				)
		}),
})
