/** The commands that send to an endpoint: `webhooks test`, `webhooks resend` and `webhooks replay`. */
import type { WebhookEndpoint } from '../../outbox/webhooks/endpoint.ts'
import { formatCount } from '../../text/format.ts'
import { type Command, defineCommand } from '../command.ts'
import { DATABASE_OPTIONS } from '../database/database-target.ts'
import { usageError } from '../errors.ts'
import type { CommandIo } from '../io.ts'
import { type Arguments, number, text } from '../option-tables.ts'
import { parseMoment } from '../outbox/parse-time.ts'
import {
	CHANGE_OPTIONS,
	ENDPOINT_ID,
	EXAMPLE_ENDPOINT,
	operatorOf,
	requireEndpoint,
	withWebhooks,
} from './open-webhooks.ts'

export const test: Command = defineCommand({
	examples: [[`yaoki webhooks test ${EXAMPLE_ENDPOINT}`, 'send a message with the topic webhook.test']],
	options: DATABASE_OPTIONS,
	positionals: ENDPOINT_ID,
	run: ({ id, ...args }, io) =>
		withWebhooks(args, io, async (open) => {
			const endpoint = await requireEndpoint(open, id)
			const { flags } = open.target
			const { id: messageId } = await open.endpoints.test(endpoint.id)
			io.result(
				{ id: endpoint.id, messageId },
				`Queued message ${messageId}. A relay sends it; what the endpoint responded: yaoki outbox why ${messageId}${flags}`,
			)
			noteDisabled(endpoint, flags, io)
		}),
})

const RANGE_OPTIONS = {
	since: text('2h|DATE', 'since then; required'),
	until: text('2h|DATE', 'before then; default now'),
	rate: number('N', 'messages per second; default all immediately', { min: 0.001 }),
}

function readRange({ since, until, rate }: Arguments<typeof RANGE_OPTIONS>, io: CommandIo) {
	if (since === undefined) throw usageError('--since is required: how far back, such as 2h or a date.')
	const now = io.runtime.wallNow()
	return {
		since: parseMoment('--since', since, now),
		until: until === undefined ? undefined : parseMoment('--until', until, now),
		ratePerSecond: rate,
		signal: io.signal,
	}
}

export const resend: Command = defineCommand({
	examples: [
		[
			`yaoki webhooks resend ${EXAMPLE_ENDPOINT} --since 2h --rate 10`,
			'its dead letters, and its sent messages if history is kept',
		],
	],
	options: { ...CHANGE_OPTIONS, ...RANGE_OPTIONS },
	positionals: ENDPOINT_ID,
	async run({ id, since, until, rate, ...args }, io) {
		const range = readRange({ since, until, rate }, io)
		return withWebhooks(args, io, async (open) => {
			const endpoint = await requireEndpoint(open, id)
			const { resent } = await open.endpoints.resend(endpoint.id, { ...range, ...operatorOf(args) })
			const none = 'No dead letter of this endpoint matches, and no sent message that is kept in the history.'
			io.result(
				{ id: endpoint.id, resent },
				resent === 0 ? none : `${formatCount(resent, 'message')} queued again.`,
			)
			noteDisabled(endpoint, open.target.flags, io)
		})
	},
})

export const replay: Command = defineCommand({
	examples: [
		[
			`yaoki webhooks replay ${EXAMPLE_ENDPOINT} --since 1d --rate 10`,
			'events of the last day that its topics match, also from before it existed',
		],
	],
	options: { ...DATABASE_OPTIONS, ...RANGE_OPTIONS },
	positionals: ENDPOINT_ID,
	async run({ id, since, until, rate, ...args }, io) {
		const range = readRange({ since, until, rate }, io)
		return withWebhooks(args, io, async (open) => {
			const endpoint = await requireEndpoint(open, id)
			const { written } = await open.endpoints.replay(endpoint.id, range)
			const none = 'No event that is kept matches. A program keeps events with the option keepEventsForMs.'
			io.result(
				{ id: endpoint.id, written },
				written === 0 ? none : `${formatCount(written, 'event')} queued for this endpoint.`,
			)
			noteDisabled(endpoint, open.target.flags, io)
		})
	},
})

function noteDisabled({ id, isEnabled }: WebhookEndpoint, flags: string, io: CommandIo): void {
	if (!isEnabled)
		io.note(`The endpoint is disabled: its messages wait until yaoki webhooks enable ${id}${flags}`)
}
