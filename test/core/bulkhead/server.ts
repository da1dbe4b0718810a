/**
 * A server of `workers` and a queue, loaded by callers who always keep as many calls running as the limit lets them. All
 * in one loop over virtual time, without promises: a hundred thousand calls take a blink.
 */
import type { AdaptiveLimit } from '../../../src/core/bulkhead/limits.ts'

export interface Server {
	workers: number
	serviceMs: number
	/** Calls beyond this number in the server are rejected immediately. */
	maxInside?: number
	/** How many callers there are; by default as many as the limit lets in. */
	callers?: number
}

export interface Load {
	/** The limit after every call. */
	readonly limits: number[]
	readonly elapsedMs: number
}

interface Running {
	readonly startedAt: number
	readonly endsAt: number
	readonly isDropped: boolean
}

/** Runs `calls` calls; a service takes from 0.1 to 1.9 times its mean, as `random` draws from 0 to 1. */
export function load(
	limit: Pick<AdaptiveLimit, 'limit' | 'sample'>,
	{ workers, serviceMs, maxInside = Infinity, callers = Infinity }: Server,
	calls: number,
	random: () => number,
): Load {
	const running: Running[] = []
	const freeAt = new Array<number>(workers).fill(0)
	const limits: number[] = []
	let now = 0
	for (let call = 0; call < calls; call++) {
		while (running.length < Math.min(limit.limit, callers)) {
			const isDropped = running.filter((one) => !one.isDropped).length >= maxInside
			const worker = freeAt.indexOf(Math.min(...freeAt))
			const begins = Math.max(now, freeAt[worker] ?? 0)
			const endsAt = isDropped ? now + 1 : begins + serviceMs * (0.1 + 1.8 * random())
			if (!isDropped) freeAt[worker] = endsAt
			running.push({ startedAt: now, endsAt, isDropped })
		}
		const next = running.reduce((a, b) => (b.endsAt < a.endsAt ? b : a))
		now = next.endsAt
		limits.push(limit.sample(now - next.startedAt, next.isDropped, running.length))
		running.splice(running.indexOf(next), 1)
	}
	return { limits, elapsedMs: now }
}
