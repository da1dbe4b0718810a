/** The commands that send to an endpoint: `webhooks test`, `webhooks resend` and `webhooks replay`. */
import type { WebhookEndpoint } from '../../outbox/webhooks/endpoint.ts'
import type { WebhookEndpoints } from '../../outbox/webhooks/endpoints.ts'
import { formatCount } from '../../text/format.ts'
import { type Command, type CommandResult, defineCommand } from '../command.ts'
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

type RangeArguments = Arguments<typeof DATABASE_OPTIONS & typeof RANGE_OPTIONS> & { readonly id: string }
type Range = ReturnType<typeof readRange>

/** Queues messages of a time again. `queue` returns their number, which is the field `counted` of the JSON output. */
function queueRange(
	{ id, since, until, rate, ...args }: RangeArguments,
	io: CommandIo,
	counted: 'resent' | 'written',
	queue: (endpoints: WebhookEndpoints, id: string, range: Range) => Promise<number>,
	report: (count: number) => string,
): CommandResult {
	const range = readRange({ since, until, rate }, io)
	return withWebhooks(args, io, async (open) => {
		const endpoint = await requireEndpoint(open, id)
		const count = await queue(open.endpoints, endpoint.id, range)
		io.result({ id: endpoint.id, [counted]: count }, report(count))
		noteDisabled(endpoint, open.target.flags, io)
	})
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
	run: (args, io) =>
		queueRange(
			args,
			io,
			'resent',
			async (endpoints, id, range) => (await endpoints.resend(id, { ...range, ...operatorOf(args) })).resent,
			(count) =>
				count === 0
					? 'No dead letter of this endpoint matches, and no sent message that is kept in the history.'
					: `${formatCount(count, 'message')} queued again.`,
		),
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
	run: (args, io) =>
		queueRange(
			args,
			io,
			'written',
			async (endpoints, id, range) => (await endpoints.replay(id, range)).written,
			(count) =>
				count === 0
					? 'No event that is kept matches. A program keeps events with the option keepEventsForMs.'
					: `${formatCount(count, 'event')} queued for this endpoint.`,
		),
})

function noteDisabled({ id, isEnabled }: WebhookEndpoint, flags: string, io: CommandIo): void {
	if (!isEnabled)
		io.note(`The endpoint is disabled: its messages wait until yaoki webhooks enable ${id}${flags}`)
}
