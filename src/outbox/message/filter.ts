/**
 * Which messages a person means. Every part is checked, and a misspelt name is refused: a filter that loses a part matches more than was meant, and
 * what matches may be discarded.
 */
import { checkNames, invalidOption, type OptionSchema } from '../../core/options/schema.ts'
import { placed } from '../../http/options/option-path.ts'
import type { StoreFilter } from '../store/store.ts'
import type { DeadLetterCause, MessageStatus } from './message.ts'

/**
 * Which messages: all that is said must hold. What is left out does not matter.
 *
 * @example
 * await outbox.dead.list({ destination: 'billing', cause: 'retries-exhausted', since: new Date('2026-05-01') })
 */
export interface MessageFilter extends Omit<StoreFilter, 'since' | 'until'> {
	/** At or after this: of dead letters when they died, of others when they were enqueued. */
	readonly since?: Date | undefined
	/** Before this. */
	readonly until?: Date | undefined
}

const STATUSES: Readonly<Record<MessageStatus, true>> = {
	pending: true,
	processing: true,
	sent: true,
	dead: true,
}

const CAUSES: Readonly<Record<DeadLetterCause, true>> = {
	'retries-exhausted': true,
	permanent: true,
	expired: true,
	crashed: true,
	'predecessor-dead': true,
}

const NAMES: OptionSchema = {
	ids: 'any',
	status: 'any',
	topic: 'any',
	destination: 'any',
	key: 'any',
	cause: 'any',
	fingerprint: 'any',
	since: 'any',
	until: 'any',
}

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i

/** Is this shaped like the id of a message? Nothing else can be one, and a database may refuse to be asked for it. */
export const isMessageId = (id: unknown): id is string => typeof id === 'string' && UUID.test(id)

/** Checks what a person gave and puts it as a store takes it. What is undefined is left out. */
export function toFilter(given: MessageFilter): StoreFilter {
	if (Object(given) !== given || Array.isArray(given))
		invalidOption('filter', given, "an object, such as { destination: 'billing' }")
	placed('filter.', () => checkNames(given, NAMES))
	const since = timeOf('since', given.since)
	const until = timeOf('until', given.until)
	if (since !== undefined && until !== undefined && since >= until)
		invalidOption('filter.until', given.until, 'a time after since')
	return withoutGaps({
		ids: idsOf(given.ids),
		status: wordOf('status', given.status, STATUSES),
		topic: textOf('topic', given.topic),
		destination: textOf('destination', given.destination),
		key: textOf('key', given.key),
		cause: wordOf('cause', given.cause, CAUSES),
		// That of letters that died without an error is the empty text.
		fingerprint: given.fingerprint === '' ? '' : textOf('fingerprint', given.fingerprint),
		since,
		until,
	})
}

const withoutGaps = (filter: StoreFilter): StoreFilter =>
	Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined))

function idsOf(ids: unknown): readonly string[] | undefined {
	if (ids === undefined) return undefined
	if (!Array.isArray(ids)) invalidOption('filter.ids', ids, 'a list of ids')
	return ids.map((id: unknown, index) => {
		if (!isMessageId(id)) invalidOption(`filter.ids[${index}]`, id, 'the id of a message, which is a UUID')
		return id.toLowerCase()
	})
}

function textOf(name: string, text: unknown): string | undefined {
	if (text === undefined) return undefined
	if (typeof text !== 'string' || text === '' || text.includes('\0') || /\p{Surrogate}/u.test(text))
		invalidOption(`filter.${name}`, text, 'a text that is not empty, well-formed and without NUL')
	return text
}

function wordOf<Word extends string>(
	name: string,
	word: Word | undefined,
	words: Readonly<Record<Word, true>>,
): Word | undefined {
	if (word !== undefined && !Object.hasOwn(words, word))
		invalidOption(`filter.${name}`, word, `one of ${Object.keys(words).join(', ')}`)
	return word
}

function timeOf(name: string, time: unknown): number | undefined {
	if (time === undefined) return undefined
	if (!(time instanceof Date) || Number.isNaN(time.getTime()))
		invalidOption(`filter.${name}`, time, 'a Date that is valid')
	return time.getTime()
}
