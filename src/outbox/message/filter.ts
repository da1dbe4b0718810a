/**
 * Validates filters given by users. Every field is checked and unknown names are rejected: a filter that
 * loses a condition matches more than intended, and matching messages may be discarded.
 */
import { withArgumentPath } from '../../core/options/option-path.ts'
import { checkName, checkNames, invalidArgument, invalidOption } from '../../core/options/schema.ts'
import { isUuid } from '../../sql/postgres-values.ts'
import type { StoreFilter } from '../store/store.ts'
import type { DeadLetterCause, MessageStatus } from './message.ts'

/**
 * Selects messages that meet all given conditions, for `outbox.list`, `outbox.retry`, `outbox.expire` and the
 * methods of `outbox.dead`.
 *
 * @example
 * await outbox.dead.list({ destination: 'billing', cause: 'retries-exhausted', since: new Date('2026-05-01') })
 */
export interface MessageFilter extends Omit<StoreFilter, 'since' | 'until'> {
	/**
	 * At or after this time. For dead letters this is the time when they died, for others the time when they
	 * were enqueued.
	 */
	readonly since?: Date | undefined
	/** Before this time. */
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

const SCHEMA: Readonly<Record<keyof MessageFilter, 'any'>> = {
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

/** Returns true for a UUID. Other values are no message ids, and a database may reject them. */
export const isMessageId = (id: unknown): id is string => typeof id === 'string' && isUuid(id)

/** Returns the filter for the store, without undefined fields. */
export function toFilter(given: MessageFilter): StoreFilter {
	if (Object(given) !== given || Array.isArray(given))
		invalidArgument('filter', given, "an object such as { destination: 'billing' }")
	return withArgumentPath('filter', () => {
		checkNames(given, SCHEMA)
		const since = readTime('since', given.since)
		const until = readTime('until', given.until)
		if (since !== undefined && until !== undefined && since >= until)
			invalidOption('until', given.until, 'a time after since')
		const filter: StoreFilter = {
			ids: readIds(given.ids),
			status: readName('status', given.status, STATUSES),
			topic: readText('topic', given.topic),
			destination: readText('destination', given.destination),
			key: readText('key', given.key),
			cause: readName('cause', given.cause, CAUSES),
			// The fingerprint of messages that died without an error is the empty string.
			fingerprint: given.fingerprint === '' ? '' : readText('fingerprint', given.fingerprint),
			since,
			until,
		}
		return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined))
	})
}

/** Returns the filter of an operation that changes messages of this status only, without the status. */
export function toFilterOf(only: MessageStatus, given: MessageFilter): StoreFilter {
	const { status = only, ...filter } = toFilter(given)
	const expected = `'${only}' or no status, because no other messages are selected here`
	if (status !== only) invalidArgument('filter.status', status, expected)
	return filter
}

/**
 * Returns the filter of an operation that changes messages of this status. Rejects a filter without
 * conditions unless `all` is set: a filter whose only value is undefined would match everything. Rejects
 * conditions beside ids, because they would skip a message that was asked for.
 */
export function toSelection(
	only: 'dead' | 'pending',
	action: string,
	given: MessageFilter,
	all: boolean | undefined,
): StoreFilter {
	if (all !== undefined && typeof all !== 'boolean') invalidOption('all', all, 'a boolean')
	const filter = toFilterOf(only, given)
	const { ids, ...others } = filter
	const [other, ...more] = Object.keys(others) as (keyof typeof others)[]
	if (!all && !ids && !other) {
		const messages = only === 'dead' ? 'dead letter' : 'queued message'
		const expected = `at least one condition (to ${action} every ${messages}, pass { all: true })`
		invalidArgument('filter', '{}', expected)
	}
	if (ids && other) {
		const expected = `no value beside ids (ids select messages by themselves: remove ${[other, ...more].join(', ')})`
		invalidArgument(`filter.${other}`, given[other], expected)
	}
	return filter
}

function readIds(ids: unknown): readonly string[] | undefined {
	if (ids === undefined) return undefined
	if (!Array.isArray(ids)) invalidOption('ids', ids, 'an array of message ids')
	return ids.map((id: unknown, index) => {
		if (!isMessageId(id)) invalidOption(`ids[${index}]`, id, 'a message id, which is a UUID')
		return id.toLowerCase()
	})
}

/** Returns true for a text that a database can store. */
export const isStorable = (text: unknown): text is string =>
	typeof text === 'string' && text !== '' && !/[\0\p{Surrogate}]/u.test(text)

export function readText(name: string, text: unknown): string | undefined {
	if (text !== undefined && !isStorable(text))
		invalidOption(name, text, 'a non-empty string without NUL characters and lone surrogates')
	return text
}

export function readName<Name extends string>(
	field: string,
	name: Name | undefined,
	valid: Readonly<Record<Name, true>>,
): Name | undefined {
	if (name !== undefined) checkName(field, name, Object.keys(valid))
	return name
}

export function readTime(name: string, time: unknown): number | undefined {
	if (time === undefined) return undefined
	if (!(time instanceof Date) || Number.isNaN(time.getTime())) invalidOption(name, time, 'a valid Date')
	return time.getTime()
}

export const PAGE_SIZE = 100

export function checkLimit(limit: unknown): void {
	if (typeof limit !== 'number' || !Number.isSafeInteger(limit) || limit < 1)
		invalidOption('limit', limit, 'a positive integer')
}
