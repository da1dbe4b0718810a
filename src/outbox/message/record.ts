/** Converts a stored message for users: dates, parsed JSON, and undefined instead of null. */
import type { StoredMessage } from '../store/rows.ts'
import type { MessageRecord } from './message.ts'

export function toRecord(stored: StoredMessage): MessageRecord {
	return {
		id: stored.id,
		topic: stored.topic,
		destination: stored.destination,
		key: stored.key ?? undefined,
		payload: parseJson(stored.payload),
		headers: toHeaders(stored.headers),
		dedupeKey: stored.dedupeKey ?? undefined,
		status: stored.status,
		attempts: stored.attempts,
		maxRetries: toRetryLimit(stored.maxRetries),
		nextRetryAt: toDate(stored.dueAt),
		lastAttemptAt: toDate(stored.lastAttemptAt),
		lastError: stored.error ?? undefined,
		lockedAt: toDate(stored.lockedAt),
		lockedBy: stored.lockedBy ?? undefined,
		leaseUntil: toDate(stored.leaseUntil),
		createdAt: new Date(stored.createdAt),
		expiresAt: toDate(stored.expiresAt),
		crashes: stored.crashes,
		endedAt: toDate(stored.endedAt),
		cause: stored.cause ?? undefined,
	}
}

const toDate = (ms: number | null): Date | undefined => (ms === null ? undefined : new Date(ms))

/** Returns invalid JSON of a manually written row as text: it must not make a whole list fail. */
export function parseJson(text: string): unknown {
	try {
		return JSON.parse(text)
	} catch {
		return text
	}
}

export function toHeaders(text: string | null): Readonly<Record<string, string>> {
	const headers = text === null ? undefined : parseJson(text)
	return isHeaders(headers) ? headers : {}
}

const isHeaders = (value: unknown): value is Readonly<Record<string, string>> =>
	typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * `maxRetries: Infinity` in a column of 32 bits. The largest number stands for it: code that does not know
 * the convention, such as a query of the user, compares it like any other limit and never reaches it. Null is
 * taken, it means the destination's limit.
 */
export const UNLIMITED_RETRIES: number = 2 ** 31 - 1

/** The largest limit that is a number. */
export const MAX_RETRIES: number = UNLIMITED_RETRIES - 1

/** Returns the limit of a stored message; undefined if the destination's limit applies. */
export const toRetryLimit = (stored: number | null): number | undefined =>
	stored === UNLIMITED_RETRIES ? Infinity : (stored ?? undefined)
