/** How values are stored, the same in both databases: times, errors, audit records, messages. */
import type { StoredError } from '../message/message.ts'
import type { NewAttempt, OperatorChange, Settlement, StoredMessage } from './rows.ts'
import type { MessageEdit } from './store.ts'

/** The last time that a JavaScript Date can represent, in milliseconds since 1970. */
export const MAX_TIME = 8_640_000_000_000_000

/** Returns the time `ms` after `now`, rounded up to a whole millisecond, which is what the columns hold. */
export const timeAfter = (now: number, ms: number): number => Math.min(MAX_TIME, now + Math.ceil(ms))

/**
 * How long a dedupe key rejects further messages: a day. The whole retry schedule of a relay with default
 * options takes less, even if every response asks for the longest Retry-After.
 */
export const DEFAULT_DEDUPE_FOR_MS = 86_400_000

/** When an expired key whose message is still queued or dead is checked again. */
export const HELD_KEY_MS = 3_600_000

/** NUL ends a text in SQLite and is invalid in PostgreSQL; lone surrogates are not valid Unicode. */
const UNSTORABLE = /[\0\p{Surrogate}]/gu

const sanitize = (text: string): string => text.replace(UNSTORABLE, '\ufffd')

/** Returns the error without characters that databases reject. */
export const sanitizeError = ({ type, message, fingerprint }: StoredError): StoredError => ({
	type: sanitize(type),
	message: sanitize(message),
	fingerprint: sanitize(fingerprint),
})

const sanitizeOrNull = (text: string | null): string | null => (text === null ? null : sanitize(text))

/** Returns the attempt without characters that databases reject. */
export const sanitizeAttempt = (attempt: NewAttempt): NewAttempt => ({
	...attempt,
	errorType: sanitizeOrNull(attempt.errorType),
	errorMessage: sanitizeOrNull(attempt.errorMessage),
	response: sanitizeOrNull(attempt.response),
})

/** Returns the attempt without texts of user code and of the receiver, if the database rejects them. */
export const withoutTexts = (attempt: NewAttempt): NewAttempt => ({
	...attempt,
	errorType: null,
	errorMessage: null,
	response: null,
})

const hasTexts = ({ errorType, errorMessage, response }: NewAttempt): boolean =>
	errorType !== null || errorMessage !== null || response !== null

/** Returns the settlement with less of its log: first without texts, then without the log. */
export function withLessLog(settlement: Settlement): Settlement {
	const { log, ...others } = settlement
	if (log === undefined) return settlement
	return hasTexts(log) ? { ...others, log: withoutTexts(log) } : others
}

/** Returns the attempts to log of settlements, of which these claims were lost. */
export function attemptsOf(settlements: readonly Settlement[], lost: readonly string[]): NewAttempt[] {
	const attempts: NewAttempt[] = []
	for (const { id, log } of settlements)
		if (log) attempts.push(lost.includes(id) ? { ...log, outcome: 'lease-lost' } : log)
	return attempts
}

/** Stored if the database rejects the sanitized error too. */
export const UNSTORABLE_ERROR: StoredError = {
	type: 'Error',
	message: '(the error text could not be stored)',
	fingerprint: 'unwritable',
}

/** Members of an edit that are JSON already. They are inserted as they are, because parsing would round big numbers. */
const RAW: ReadonlySet<string> = new Set(['payload', 'headers'])

/** Returns what an edit changes as JSON, for its audit record; null if it changes nothing. */
export function editChanges(edit: MessageEdit): string | null {
	const members = Object.entries(edit)
		.filter(([, value]) => value !== undefined)
		.map(([name, value]) => `"${name}":${RAW.has(name) ? value : JSON.stringify(value)}`)
	return members.length === 0 ? null : `{${members.join()}}`
}

/** Returns the duration of a pause as JSON, for its audit record. A pause until `resume` has none: Infinity is not JSON. */
export const operatorChanges = (change: OperatorChange): string | null =>
	change.action === 'pause'
		? JSON.stringify({ forMs: change.forMs === Infinity ? null : change.forMs })
		: null

/** A message as its columns, with the error in three of them. */
export interface MessageRow extends Omit<StoredMessage, 'error'> {
	readonly seq: unknown
	readonly errorType: string | null
	readonly errorMessage: string | null
	readonly errorFingerprint: string | null
}

export function toStoredMessage(columns: MessageRow): StoredMessage {
	const { seq: _, errorType: type, errorMessage, errorFingerprint, ...row } = columns
	const error =
		type === null ? null : { type, message: errorMessage ?? '', fingerprint: errorFingerprint ?? '' }
	return { ...row, error }
}
