/**
 * The token bucket that all relays share. Tokens are counted in parts, `intervalMs` parts to a token: each
 * millisecond adds `limit` parts, so that all numbers are integers and no fraction of a token is lost.
 * PostgreSQL evaluates the same formulas in one statement (postgres/circuits.ts); a test compares both.
 */
import type { SharedRate, TokenGrant } from '../rows.ts'

export interface TokenBucket {
	readonly parts: number
	/** Number of parts that made a token when `parts` was written. */
	readonly intervalMs: number
	readonly at: number
}

const capacity = ({ burst, intervalMs }: SharedRate): number => burst * intervalMs

/** Returns the parts in the bucket now. A bucket that was never used is full. A clock that was set back adds nothing. */
export function filledParts(bucket: TokenBucket | undefined, rate: SharedRate, now: number): number {
	if (!bucket) return capacity(rate)
	const parts =
		bucket.intervalMs === rate.intervalMs
			? bucket.parts
			: Math.floor((bucket.parts / bucket.intervalMs) * rate.intervalMs)
	return Math.min(capacity(rate), parts + Math.max(0, now - bucket.at) * rate.limit)
}

export const takeTokens = (
	bucket: TokenBucket | undefined,
	count: number,
	rate: SharedRate,
	now: number,
): TokenGrant & { readonly bucket: TokenBucket } => {
	const filled = filledParts(bucket, rate, now)
	const granted = Math.max(0, Math.min(count, Math.floor(filled / rate.intervalMs)))
	const parts = filled - granted * rate.intervalMs
	return {
		...tokenGrant(granted, count, parts, rate),
		bucket: { parts, intervalMs: rate.intervalMs, at: now },
	}
}

/** Returns the grant, given the parts that remain after it. */
export const tokenGrant = (granted: number, count: number, parts: number, rate: SharedRate): TokenGrant => ({
	granted,
	inMs: granted < count ? Math.ceil((rate.intervalMs - parts) / rate.limit) : 0,
})

/** Returns the bucket with `count` more tokens. A bucket that was never used is full already. */
export const returnTokens = (
	bucket: TokenBucket | undefined,
	count: number,
	rate: SharedRate,
	now: number,
): TokenBucket | undefined =>
	bucket && {
		parts: Math.min(capacity(rate), filledParts(bucket, rate, now) + count * rate.intervalMs),
		intervalMs: rate.intervalMs,
		at: now,
	}
