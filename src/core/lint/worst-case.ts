/**
 * What one call may cost: how long it takes, how many calls of the work it makes. Computed from the work outwards; each policy makes
 * the cost of itself of what is inside of it.
 *
 * A bound is only as good as what it says about who repeats what, so the ends of a call are told apart as the engine does: a
 * retry acts upon failures that no retry further in has acted upon, and upon refusals only when it was told to.
 */
import { schedule } from '../backoff/schedule.ts'
import { LastGoodValue } from '../fallback/last-good-value.ts'
import type { HedgeSettings } from '../hedge/options.ts'
import type { RetrySettings } from '../retry/options.ts'
import type { FallbackPart, Part } from './parse-pipeline.ts'

/** How the inner part may end, and after how many milliseconds at most; -1 where it can not end so. */
interface Cost {
	/** A failure that no retry has acted upon. */
	readonly open: number
	/** A policy did not let the call in. */
	readonly refused: number
	/** A failure that a retry has given up. */
	readonly spent: number
	readonly ok: number
	/** In an outage in which the work hangs, with mean waits between the attempts and no queues. */
	readonly meanMs: number
	/** How many calls of the work can have begun so long after the start, at most. */
	readonly calls: (untilMs: number) => number
	/** How many of them before a refusal. */
	readonly refusedCalls: number
}

const NEVER = -1

const WORK: Cost = {
	open: Infinity,
	refused: NEVER,
	spent: NEVER,
	ok: Infinity,
	meanMs: Infinity,
	calls: (untilMs) => (untilMs >= 0 ? 1 : 0),
	refusedCalls: 0,
}

export const costOf = (parts: readonly Part[]): Cost =>
	parts.reduceRight((inner, part) => costAround(part, inner), WORK)

const failureOf = ({ open, refused, spent }: Cost): number => Math.max(open, refused, spent)

export const worstOf = (cost: Cost): number => Math.max(failureOf(cost), cost.ok)

function costAround(part: Part, inner: Cost): Cost {
	switch (part.kind) {
		case 'retry':
			return part.isLeftToOuter
				? inner
				: passing(retried(inner, part.settings), part.isAskedTo && inner.open >= 0)
		case 'timeout':
			return limited(inner, part.ms)
		case 'bulkhead': {
			const { maxQueue, queueTimeoutMs } = part.settings
			const waitMs = maxQueue ? queueTimeoutMs : 0
			return refusing(delayed(inner, waitMs), waitMs)
		}
		case 'limiter':
			return refusing(delayed(inner, part.settings.maxWaitMs), 0)
		case 'breaker':
			return part.settings.shadow ? inner : refusing(inner, 0)
		case 'throttle':
			return refusing(inner, 0)
		case 'hedge':
			return hedged(inner, part.settings)
		case 'fallback':
			return replaced(inner, part)
		default:
			return { ...delayed(inner, Infinity), open: Infinity, refused: Infinity, meanMs: Infinity }
	}
}

/** A failure that it does not act upon is open to the next retry. */
const passing = (cost: Cost, passes: boolean): Cost => (passes ? { ...cost, open: worstOf(cost) } : cost)

const refusing = (inner: Cost, afterMs: number): Cost => ({
	...inner,
	refused: Math.max(inner.refused, afterMs),
})

/** Every end so much later. */
function delayed(inner: Cost, ms: number): Cost {
	const later = (end: number): number => (end < 0 ? end : end + ms)
	return {
		...inner,
		open: later(inner.open),
		refused: later(inner.refused),
		spent: later(inner.spent),
		ok: later(inner.ok),
	}
}

/** A timeout is a failure that no retry has seen, even when it ends one. */
function limited(inner: Cost, ms: number): Cost {
	const { open, refused, spent, ok, meanMs, calls } = inner
	return {
		...inner,
		open: worstOf(inner) < ms ? open : ms,
		refused: Math.min(refused, ms),
		spent: Math.min(spent, ms),
		ok: Math.min(ok, ms),
		meanMs: Math.min(meanMs, ms),
		calls: (untilMs) => calls(Math.min(untilMs, ms)),
	}
}

/** An alternative that is a function takes as long as it likes, and may fail itself. */
function replaced(inner: Cost, { alternatives, isChoosy }: FallbackPart): Cost {
	const failedMs = failureOf(inner)
	if (failedMs < 0) return inner
	const ms = alternatives.some(isFunction) ? Infinity : 0
	const answered = { ...delayed(inner, ms), ok: Math.max(inner.ok, failedMs + ms), meanMs: inner.meanMs + ms }
	const isSure = !isChoosy && !alternatives.every((one) => isFunction(one) || one instanceof LastGoodValue)
	return isSure ? { ...answered, open: NEVER, refused: NEVER, spent: NEVER } : answered
}

const isFunction = (value: unknown): boolean => typeof value === 'function'

/** A hedge is sent as long as the first request has not ended; when that fails, those under way are waited for. */
function hedged(inner: Cost, { delayMs, maxHedges }: HedgeSettings): Cost {
	const { open, refused, spent, ok, meanMs } = inner
	const [failedMs, worstMs] = [failureOf(inner), worstOf(inner)]
	const lastSentMs = (untilMs: number): number =>
		// By a percentile, it may be sent in the very moment in which the first request fails.
		delayMs < 0 ? untilMs : Math.min(maxHedges, Math.floor(untilMs / (delayMs || 1))) * delayMs
	const later = (end: number): number => (end < 0 ? end : Math.max(end, lastSentMs(end) + failedMs))
	const starts = Array.from({ length: maxHedges + 1 }, (_, hedge) => hedge * Math.max(0, delayMs))
	const sent = starts.filter((ms) => ms <= worstMs)
	const calls: Cost['calls'] = (untilMs) => sent.reduce((sum, ms) => sum + inner.calls(untilMs - ms), 0)
	return {
		open: later(open),
		refused: later(refused),
		spent: later(spent),
		ok: failedMs < 0 ? ok : ok + lastSentMs(failedMs),
		meanMs: failedMs < 0 ? meanMs : meanMs + lastSentMs(meanMs),
		calls,
		refusedCalls: refused < 0 ? 0 : calls(Infinity),
	}
}

/** So many waits are looked at one by one; of later ones only the bounds are known. */
const LISTED = 1_000

/** A retry's waits: after how long, in sum, each attempt can begin. The first begins at once. */
interface Starts {
	readonly least: readonly number[]
	readonly mean: readonly number[]
	readonly greatest: readonly number[]
}

export function startsOf(settings: RetrySettings): Starts {
	const { growth, maxDelayMs, maxRetries } = settings
	const isKnown = typeof growth !== 'function'
	const { delays } = schedule({
		...settings,
		// What a function will say is not known, only that it is cut off at the cap.
		growth: isKnown ? growth : [maxDelayMs],
		maxRetries: Math.min(maxRetries, LISTED),
		maxElapsedMs: undefined,
	})
	return {
		least: sums(delays.map(({ minMs = 0 }) => (isKnown ? minMs : 0))),
		mean: sums(delays.map(({ meanMs = 0 }) => meanMs)),
		greatest: sums(delays.map(({ maxMs = 0 }) => maxMs)),
	}
}

function sums(delays: readonly number[]): number[] {
	let sum = 0
	return [0, ...delays.map((delay) => (sum += delay))]
}

function retried(inner: Cost, settings: RetrySettings): Cost {
	const { maxRetries, maxElapsedMs, shouldRetry, classify, retryResult } = settings
	const againMs = Math.max(
		inner.open,
		shouldRetry || classify ? inner.refused : NEVER,
		retryResult ? inner.ok : NEVER,
	)
	const given = { ...inner, open: NEVER, refused: NEVER, spent: failureOf(inner), refusedCalls: 0 }
	if (againMs < 0) return given
	const { least, mean, greatest } = startsOf(settings)
	const inTime = least.filter((ms) => ms <= maxElapsedMs)
	const retries = inTime.length < least.length ? inTime.length - 1 : maxRetries
	const waitsMs = greatest[retries] ?? Infinity
	const lastStartMs = waitsMs < Infinity && retries ? waitsMs + retries * againMs : waitsMs
	const isWorkRepeated = inner.open >= 0 || retryResult !== undefined
	return {
		...delayed(given, Math.min(lastStartMs, maxElapsedMs)),
		meanMs: inner.open < 0 ? inner.meanMs : meanOf(inner.meanMs, mean, settings),
		calls(untilMs) {
			if (!isWorkRepeated) return inner.calls(untilMs) + (inner.refusedCalls && inner.refusedCalls * retries)
			const later = laterStarts(least, retries, Math.min(untilMs, maxElapsedMs))
			return inTime.reduce(
				(sum, ms) => sum + inner.calls(untilMs - ms),
				later && later * inner.calls(untilMs),
			)
		},
	}
}

/** How many attempts can begin by then beyond those that are listed: each waits at least as long as the last of these. */
function laterStarts(least: readonly number[], retries: number, untilMs: number): number {
	const [before = 0, last = 0] = least.slice(-2)
	if (retries < least.length || untilMs < last) return 0
	return Math.min(retries - LISTED, last > before ? Math.floor((untilMs - last) / (last - before)) : Infinity)
}

function meanOf(attemptMs: number, waits: readonly number[], settings: RetrySettings): number {
	const { maxRetries, maxElapsedMs } = settings
	const starts = waits.map((ms, attempt) => ms + (attempt && attempt * attemptMs))
	const inTime = starts.filter((ms) => ms <= maxElapsedMs)
	const isListed = inTime.length < starts.length || maxRetries <= LISTED
	return attemptMs + (isListed ? (inTime.at(-1) ?? 0) : maxElapsedMs)
}
