/** A message as a store has it, made into what people read: dates, values in the place of JSON, and undefined for what is not there. */
import type { StoredMessage } from '../store/rows.ts'
import type { MessageRecord } from './message.ts'

/** All that is known about a message. */
export function toRecord(stored: StoredMessage): MessageRecord {
	return {
		id: stored.id,
		topic: stored.topic,
		destination: stored.destination,
		key: stored.key ?? undefined,
		payload: parsed(stored.payload),
		headers: headersOf(stored.headers),
		dedupeKey: stored.dedupeKey ?? undefined,
		status: stored.status,
		attempts: stored.attempts,
		maxRetries: stored.maxRetries ?? undefined,
		nextRetryAt: dateOf(stored.dueAt),
		lastAttemptAt: dateOf(stored.lastAttemptAt),
		lastError: stored.error ?? undefined,
		lockedAt: dateOf(stored.lockedAt),
		lockedBy: stored.lockedBy ?? undefined,
		leaseUntil: dateOf(stored.leaseUntil),
		createdAt: new Date(stored.createdAt),
		expiresAt: dateOf(stored.expiresAt),
		crashes: stored.crashes,
		endedAt: dateOf(stored.endedAt),
		cause: stored.cause ?? undefined,
	}
}

const dateOf = (ms: number | null): Date | undefined => (ms === null ? undefined : new Date(ms))

/** A row that somebody wrote by hand may be no JSON. It is shown as it is: one such row must not hide the others of a list. */
function parsed(text: string): unknown {
	try {
		return JSON.parse(text)
	} catch {
		return text
	}
}

function headersOf(text: string | null): Readonly<Record<string, string>> {
	const headers = text === null ? undefined : parsed(text)
	return isHeaders(headers) ? headers : {}
}

const isHeaders = (value: unknown): value is Readonly<Record<string, string>> =>
	typeof value === 'object' && value !== null && !Array.isArray(value)
