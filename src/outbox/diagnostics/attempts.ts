/** The attempts of a message, for people: what each call of its handler resulted in. */
import { checkNames, invalidArgument, invalidOption, isObject } from '../../core/options/schema.ts'
import { checkLimit, isMessageId, PAGE_SIZE } from '../message/filter.ts'
import type { ShownStore } from '../message/redact.ts'
import type { AttemptOutcome, AttemptRow } from '../store/rows.ts'

/** What one call of a handler resulted in. `outbox.attempts()` returns a list of them. */
export interface MessageAttempt {
	/** Number of the attempt, from 1. After a replay or a resend it starts again at 1. */
	readonly attempt: number
	readonly startedAt: Date
	readonly durationMs: number
	readonly outcome: AttemptOutcome
	/** Where the message was sent. */
	readonly destination: string
	/** Id of the relay that called the handler. */
	readonly relay: string
	/** The status of the response, if there was one. */
	readonly statusCode: number | undefined
	readonly errorType: string | undefined
	/** The message of the error, without the response body. */
	readonly errorMessage: string | undefined
	/** The start of the response, if one was stored. */
	readonly response: string | undefined
}

/** Selects a page of the attempts of a message. */
export interface AttemptPageOptions {
	/** Maximum number of attempts. Default 100. */
	readonly limit?: number | undefined
	/** The last attempt of the previous page. */
	readonly after?: Pick<MessageAttempt, 'startedAt' | 'attempt' | 'relay'> | undefined
}

export async function listAttempts(
	shown: ShownStore,
	id: string,
	options: AttemptPageOptions,
): Promise<readonly MessageAttempt[]> {
	if (typeof id !== 'string') invalidArgument('id', id, 'a message id, which is a UUID')
	checkNames(options, { limit: 'any', after: 'any' }, 'attempts')
	const { limit = PAGE_SIZE, after } = options
	checkLimit(limit)
	if (after !== undefined && !(isObject(after) && after.startedAt instanceof Date))
		invalidOption('after', after, 'the last attempt of the previous page')
	const position = after && { ...after, startedAt: after.startedAt.getTime() }
	return isMessageId(id) ? (await shown.attempts(id.toLowerCase(), limit, position)).map(toRecord) : []
}

const toRecord = (row: AttemptRow): MessageAttempt => ({
	attempt: row.attempt,
	startedAt: new Date(row.startedAt),
	durationMs: row.durationMs,
	outcome: row.outcome,
	destination: row.destination,
	relay: row.relay,
	statusCode: row.statusCode ?? undefined,
	errorType: row.errorType ?? undefined,
	errorMessage: row.errorMessage ?? undefined,
	response: row.response ?? undefined,
})
