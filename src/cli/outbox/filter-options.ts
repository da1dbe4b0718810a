/** The options that select messages, shared by all commands on several messages. */
import type { MessageFilter } from '../../outbox/index.ts'
import { isMessageId } from '../../outbox/message/filter.ts'
import type { DeadLetterCause, MessageStatus } from '../../outbox/message/message.ts'
import { CliError, usageError } from '../errors.ts'
import { type Arguments, text, toFlag } from '../option-tables.ts'
import { parseMoment } from './parse-time.ts'

/** A message id for the examples of commands. */
export const EXAMPLE_ID = '019a8f0e-7b4c-7d31-9a52-0c8f1e6b2d77'

export const QUEUE_FILTER_OPTIONS = {
	topic: text('TOPIC', 'messages of this topic', { short: 't' }),
	destination: text('NAME', 'messages to this destination'),
	key: text('KEY', 'messages with this key', { short: 'k' }),
	fingerprint: text('HEX', 'messages with this error fingerprint, as shown by list --groups', { short: 'f' }),
	since: text('2h|DATE', 'messages enqueued since then; dead letters that died since then'),
	until: text('2h|DATE', 'messages before then'),
}

export const FILTER_OPTIONS = {
	...QUEUE_FILTER_OPTIONS,
	cause: text('CAUSE', 'dead letters with this cause', {
		choices: ['retries-exhausted', 'permanent', 'expired', 'crashed', 'predecessor-dead'],
	}),
}

/** The option of commands that show messages. */
export const REDACT_OPTION = {
	redact: text(
		'NAMES',
		'hide these fields of payloads and headers, separated by commas; default YAOKI_REDACT',
	),
}

/** Options of commands that change something by hand. */
export const OPERATOR_OPTIONS = {
	by: text('NAME', 'who does it, for the audit; default the user and host of this process'),
	reason: text('TEXT', 'why, for the audit and for other operators'),
}

export const LETTER_IDS = {
	ids: { placeholder: 'ID', description: 'ids of dead letters', optional: true, multiple: true },
} as const

export type FilterArguments = Arguments<typeof QUEUE_FILTER_OPTIONS> & {
	readonly cause?: DeadLetterCause | undefined
	readonly status?: MessageStatus | undefined
	readonly ids?: readonly string[]
}

/** Returns the filter with the given fields only, so that an empty filter has no keys. */
export function toFilter(args: FilterArguments, now: number): MessageFilter {
	const { ids = [], status, topic, destination, key, cause, fingerprint, since, until } = args
	const filter: MessageFilter = {
		status,
		topic,
		destination,
		key,
		cause,
		fingerprint,
		ids: ids.length > 0 ? ids.map(requireId) : undefined,
		since: since === undefined ? undefined : parseMoment('--since', since, now),
		until: until === undefined ? undefined : parseMoment('--until', until, now),
	}
	return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined))
}

function requireId(id: string): string {
	if (!isMessageId(id)) throw new CliError('notFound', `Message "${id}" does not exist: an id is a UUID.`)
	return id.toLowerCase()
}

/**
 * Returns the filter, and throws unless it selects something or `--all` is given alone: no command changes
 * all by accident. Ids are given alone too: a filter would skip one of them silently.
 */
export function toSelection(args: FilterArguments & { readonly all: boolean }, now: number): MessageFilter {
	const filter = toFilter(args, now)
	const isEmpty = Object.keys(filter).length === 0
	if (isEmpty !== args.all)
		throw usageError(
			args.all ? '--all cannot be combined with ids or filters.' : 'Give message ids, a filter, or --all.',
		)
	const others = filter.ids ? Object.keys(filter).filter((name) => name !== 'ids') : []
	if (others.length > 0)
		throw usageError(`IDs select messages by themselves: remove ${others.map(toFlag).join(', ')}.`)
	return filter
}
