/** Converts a stored message for users: dates, parsed JSON, and undefined instead of null. */
import type { StoredMessage } from '../store/rows.ts'
import type { MessageRecord } from './message.ts'
import { toRetryLimit } from './retry-limit.ts'

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

/** Returns invalid JSON, which only a manually written row can have, as text: it must not make a whole list fail. */
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
