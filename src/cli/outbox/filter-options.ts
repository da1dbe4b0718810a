/** Which messages are meant: the same options for every command that takes several. */
import type { MessageFilter } from '../../outbox/index.ts'
import type { DeadLetterCause, MessageStatus } from '../../outbox/message/message.ts'
import type { Arguments } from '../option-tables.ts'
import { readMoment } from './times.ts'

export const STATUSES: readonly ['pending', 'processing', 'sent', 'dead'] = [
	'pending',
	'processing',
	'sent',
	'dead',
]

/** What a message that waits can be chosen by. */
export const QUEUE_FILTER_OPTIONS = {
	topic: { type: 'string', short: 't', placeholder: 'TOPIC', description: 'only those of this topic' },
	destination: { type: 'string', placeholder: 'NAME', description: 'only those that go there' },
	key: { type: 'string', short: 'k', placeholder: 'KEY', description: 'only those of this key' },
	fingerprint: {
		type: 'string',
		short: 'f',
		placeholder: 'HEX',
		description: 'only those that failed in this way, as list --groups tells it',
	},
	since: {
		type: 'string',
		placeholder: '2h|DATE',
		description: 'only those that were enqueued since then; of dead letters, that died since then',
	},
	until: { type: 'string', placeholder: '2h|DATE', description: 'only those from before then' },
} as const

const CAUSE = {
	type: 'string',
	placeholder: 'CAUSE',
	description: 'only dead letters of this cause',
	choices: ['retries-exhausted', 'permanent', 'expired', 'crashed', 'predecessor-dead'],
} as const

/** The same with what only dead letters have. */
export const FILTER_OPTIONS: typeof QUEUE_FILTER_OPTIONS & { readonly cause: typeof CAUSE } = {
	...QUEUE_FILTER_OPTIONS,
	cause: CAUSE,
}

/** What those options give. */
export type AskedFilter = Arguments<typeof QUEUE_FILTER_OPTIONS, Record<never, never>> & {
	readonly cause?: DeadLetterCause | undefined
	readonly status?: MessageStatus | undefined
	readonly ids?: readonly string[]
}

/** What was asked for, and nothing that was not: an empty filter can be told from one that asks for something. */
export function filterOf(asked: AskedFilter, now: number): MessageFilter {
	const { ids = [], status, topic, destination, key, cause, fingerprint, since, until } = asked
	return {
		...(ids.length > 0 && { ids }),
		...(status !== undefined && { status }),
		...(topic !== undefined && { topic }),
		...(destination !== undefined && { destination }),
		...(key !== undefined && { key }),
		...(cause !== undefined && { cause }),
		...(fingerprint !== undefined && { fingerprint }),
		...(since !== undefined && { since: readMoment('--since', since, now) }),
		...(until !== undefined && { until: readMoment('--until', until, now) }),
	}
}

export const isEmpty = (filter: MessageFilter): boolean => Object.keys(filter).length === 0
