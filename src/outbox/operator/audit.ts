/** What operators did to messages, with the original message, and to destinations. */
import { withArgumentPath } from '../../core/options/option-path.ts'
import { checkNames, invalidArgument, invalidOption, isObject } from '../../core/options/schema.ts'
import { checkLimit, isMessageId, PAGE_SIZE, readName, readText, readTime } from '../message/filter.ts'
import type { DeadLetterCause } from '../message/message.ts'
import { parseJson, toHeaders } from '../message/record.ts'
import type { AuditAction, AuditRow } from '../store/rows.ts'
import type { StoreAuditFilter } from '../store/store.ts'

/** Selects audit records that meet all given conditions. */
export interface AuditFilter extends Omit<StoreAuditFilter, 'since' | 'until'> {
	/** At this time or later. */
	readonly since?: Date | undefined
	/** Before this time. */
	readonly until?: Date | undefined
}

/** Selects a page of the audit. */
export interface AuditPageOptions {
	/** Maximum number of records. Default 100. */
	readonly limit?: number | undefined
	/** The id of the last record of the previous page. */
	readonly before?: number | undefined
}

/** What an operator did to one message or to a destination. `outbox.audit()` returns a list of them. */
export interface AuditRecord {
	/** Later records have higher ids. */
	readonly id: number
	readonly at: Date
	readonly by: string
	readonly reason: string | undefined
	readonly action: AuditAction
	/** The message's destination before the change, or the destination that was changed. */
	readonly destination: string
	/** Undefined for a change of a destination, as all fields of messages below. */
	readonly messageId: string | undefined
	readonly topic: string | undefined
	readonly key: string | undefined
	readonly cause: DeadLetterCause | undefined
	/** The payload before the change. */
	readonly payload: unknown
	/** The headers before the change. */
	readonly headers: Readonly<Record<string, string>> | undefined
	/** What an edit changed, or `forMs` of a pause (null until it is resumed). */
	readonly changes: Readonly<Record<string, unknown>> | undefined
}

const ACTIONS: Readonly<Record<AuditAction, true>> = {
	retry: true,
	expire: true,
	replay: true,
	edit: true,
	discard: true,
	resend: true,
	pause: true,
	resume: true,
	'close-circuit': true,
	'create-endpoint': true,
	'change-endpoint': true,
	'rotate-secret': true,
	'disable-endpoint': true,
	'enable-endpoint': true,
	'delete-endpoint': true,
}

const SCHEMA: Readonly<Record<keyof AuditFilter, 'any'>> = {
	action: 'any',
	destination: 'any',
	by: 'any',
	messageId: 'any',
	since: 'any',
	until: 'any',
}

export function readAuditFilter(given: AuditFilter): StoreAuditFilter {
	if (!isObject(given)) invalidArgument('filter', given, "an object such as { action: 'replay' }")
	return withArgumentPath('filter', () => {
		checkNames(given, SCHEMA)
		const { messageId } = given
		if (messageId !== undefined && !isMessageId(messageId))
			invalidOption('messageId', messageId, 'a message id, which is a UUID')
		return {
			action: readName('action', given.action, ACTIONS),
			destination: readText('destination', given.destination),
			by: readText('by', given.by),
			messageId: messageId?.toLowerCase(),
			since: readTime('since', given.since),
			until: readTime('until', given.until),
		}
	})
}

export function readAuditPage(options: AuditPageOptions): AuditPageOptions & { readonly limit: number } {
	checkNames(options, { limit: 'any', before: 'any' })
	const { limit = PAGE_SIZE, before } = options
	checkLimit(limit)
	if (before !== undefined && !Number.isSafeInteger(before))
		invalidOption('before', before, 'the id of a record')
	return { limit, before }
}

export function toAuditRecord(row: AuditRow): AuditRecord {
	const { seq, at, by, action, destination, messageId, payload, headers, changes } = row
	return {
		id: seq,
		at: new Date(at),
		by,
		reason: row.reason ?? undefined,
		action,
		destination,
		messageId: messageId ?? undefined,
		topic: row.topic ?? undefined,
		key: row.key ?? undefined,
		cause: row.cause ?? undefined,
		payload: payload === null ? undefined : parseJson(payload),
		headers: messageId === null ? undefined : toHeaders(headers),
		changes: changes === null ? undefined : toChanges(parseJson(changes)),
	}
}

const toChanges = (value: unknown): Readonly<Record<string, unknown>> =>
	typeof value === 'object' && value !== null ? { ...value } : {}
