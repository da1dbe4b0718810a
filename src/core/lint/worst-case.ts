/**
 * The worst case of one call: its duration and its number of attempts. It is computed from the operation
 * outwards: each policy derives its cost from the cost of what is inside it.
 *
 * The bound is exact only if it is known which failures are retried, so the ways in which a call can end are
 * kept apart as in the engine: a retry acts on failures that no inner retry has handled. On rejections, and
 * on what an inner retry has passed on as permanent or cancelled, it acts only if it is configured to.
 */
import { LastGoodValue } from '../fallback/last-good-value.ts'
import type { HedgeSettings } from '../hedge/options.ts'
import type { RetrySettings } from '../retry/options.ts'
import { computeSchedule } from '../retry/schedule.ts'
import type { FallbackInfo, PolicyInfo } from './parse-pipeline.ts'

/** The maximum duration in milliseconds for each way to end; NEVER if it cannot end that way. */
interface Cost {
	/** Ends with a failure that no retry has handled. */
	readonly unretriedMs: number
	/** A rejection, or a failure that a retry has passed on as permanent or cancelled. */
	readonly rejectedMs: number
	/** Ends with a failure after a retry has made its last attempt. */
	readonly exhaustedMs: number
	readonly successMs: number
	/** The duration while the operation hangs, with mean delays and empty queues. */
	readonly meanMs: number
	/** Returns the maximum number of attempts that start within `untilMs`. */
	readonly attempts: (untilMs: number) => number
	/** The maximum number of attempts before such an end. */
	readonly attemptsBeforeRejection: number
}

const NEVER = -1

const OPERATION: Cost = {
	unretriedMs: Infinity,
	rejectedMs: NEVER,
	exhaustedMs: NEVER,
	successMs: Infinity,
	meanMs: Infinity,
	attempts: (untilMs) => (untilMs >= 0 ? 1 : 0),
	attemptsBeforeRejection: 0,
}

export const computeCost = (policies: readonly PolicyInfo[]): Cost =>
	policies.reduceRight((inner, policy) => addPolicy(policy, inner), OPERATION)

const worstFailure = ({ unretriedMs, rejectedMs, exhaustedMs }: Cost): number =>
	Math.max(unretriedMs, rejectedMs, exhaustedMs)

export const worstDuration = (cost: Cost): number => Math.max(worstFailure(cost), cost.successMs)

function addPolicy(policy: PolicyInfo, inner: Cost): Cost {
	switch (policy.kind) {
		case 'retry': {
			if (policy.alwaysDefers) return inner
			const cost = addRetry(inner, policy.settings)
			const mayDefer = policy.sometimesDefers && inner.unretriedMs >= 0
			return mayDefer ? { ...cost, unretriedMs: worstDuration(cost) } : cost
		}
		case 'timeout':
			return addTimeout(inner, policy.ms)
		case 'bulkhead': {
			const { maxQueue, queueTimeoutMs } = policy.settings
			const waitMs = maxQueue ? queueTimeoutMs : 0
			return addRejection(addWait(inner, waitMs), waitMs)
		}
		case 'rate-limiter':
			return addRejection(addWait(inner, policy.settings.maxWaitMs), 0)
		case 'breaker':
			return policy.settings.shadow ? inner : addRejection(inner, 0)
		case 'throttle':
			return addRejection(inner, 0)
		case 'hedge':
			return addHedges(inner, policy.settings)
		case 'fallback':
			return addFallback(inner, policy)
		default:
			return { ...addWait(inner, Infinity), unretriedMs: Infinity, rejectedMs: Infinity, meanMs: Infinity }
	}
}

const addRejection = (inner: Cost, afterMs: number): Cost => ({
	...inner,
	rejectedMs: Math.max(inner.rejectedMs, afterMs),
})

/** Changes every end that is possible. */
function mapEnds(inner: Cost, map: (endMs: number) => number): Cost {
	const mapEnd = (endMs: number): number => (endMs < 0 ? endMs : map(endMs))
	return {
		...inner,
		unretriedMs: mapEnd(inner.unretriedMs),
		rejectedMs: mapEnd(inner.rejectedMs),
		exhaustedMs: mapEnd(inner.exhaustedMs),
		successMs: mapEnd(inner.successMs),
	}
}

const addWait = (inner: Cost, ms: number): Cost => mapEnds(inner, (endMs) => endMs + ms)

/** A timeout is a failure that no retry has acted on, even if it ends a retry. */
function addTimeout(inner: Cost, ms: number): Cost {
	return {
		...mapEnds(inner, (endMs) => Math.min(endMs, ms)),
		unretriedMs: worstDuration(inner) < ms ? inner.unretriedMs : ms,
		meanMs: Math.min(inner.meanMs, ms),
		attempts: (untilMs) => inner.attempts(Math.min(untilMs, ms)),
	}
}

/** An alternative that is a function can take any time and can fail. */
function addFallback(inner: Cost, { alternatives, isConditional }: FallbackInfo): Cost {
	const failureMs = worstFailure(inner)
	if (failureMs < 0) return inner
	const ms = alternatives.some(isFunction) ? Infinity : 0
	const successMs = Math.max(inner.successMs, failureMs + ms)
	const cost = { ...addWait(inner, ms), successMs, meanMs: inner.meanMs + ms }
	const canFail =
		isConditional || alternatives.every((one) => isFunction(one) || one instanceof LastGoodValue)
	return canFail ? cost : { ...cost, unretriedMs: NEVER, rejectedMs: NEVER, exhaustedMs: NEVER }
}

const isFunction = (value: unknown): boolean => typeof value === 'function'

/** Hedges are sent until the first request ends. If that fails, the call waits for the hedges in flight. */
function addHedges(inner: Cost, { delayMs, maxHedges }: HedgeSettings): Cost {
	const { rejectedMs, successMs, meanMs } = inner
	const [failureMs, worstMs] = [worstFailure(inner), worstDuration(inner)]
	const lastSentMs = (untilMs: number): number =>
		// With a percentile, a hedge can be sent at the moment when the first request fails.
		delayMs < 0 ? untilMs : Math.min(maxHedges, Math.floor(untilMs / (delayMs || 1))) * delayMs

	const starts = Array.from({ length: maxHedges + 1 }, (_, hedge) => hedge * Math.max(0, delayMs))
	const sent = starts.filter((ms) => ms <= worstMs)
	const attempts: Cost['attempts'] = (untilMs) =>
		sent.reduce((sum, ms) => sum + inner.attempts(untilMs - ms), 0)
	return {
		...mapEnds(inner, (endMs) => Math.max(endMs, lastSentMs(endMs) + failureMs)),
		successMs: failureMs < 0 ? successMs : successMs + lastSentMs(failureMs),
		meanMs: failureMs < 0 ? meanMs : meanMs + lastSentMs(meanMs),
		attempts,
		attemptsBeforeRejection: rejectedMs < 0 ? 0 : attempts(Infinity),
	}
}

/** The delays of this many retries are computed one by one; for later ones only the bounds are known. */
const MAX_LISTED = 1_000

/** Returns the minimum, mean and maximum sum of the delays before each attempt; 0 for the first. */
export function attemptStarts(
	settings: RetrySettings,
): Readonly<Record<'min' | 'mean' | 'max', readonly number[]>> {
	const { growth, maxDelayMs, maxRetries } = settings
	const isKnown = typeof growth !== 'function'
	const { delays } = computeSchedule({
		...settings,
		// Only the cap of a function is known.
		growth: isKnown ? growth : [maxDelayMs],
		maxRetries: Math.min(maxRetries, MAX_LISTED),
	})
	return {
		min: runningSums(delays.map(({ minMs = 0 }) => (isKnown ? minMs : 0))),
		mean: runningSums(delays.map(({ meanMs = 0 }) => meanMs)),
		max: runningSums(delays.map(({ maxMs = 0 }) => maxMs)),
	}
}

function runningSums(delays: readonly number[]): number[] {
	let sum = 0
	return [0, ...delays.map((delay) => (sum += delay))]
}

function addRetry(inner: Cost, settings: RetrySettings): Cost {
	const { maxRetries, maxElapsedMs, shouldRetry, classify, retryResult } = settings
	const retriedMs = Math.max(
		inner.unretriedMs,
		shouldRetry || classify ? inner.rejectedMs : NEVER,
		retryResult ? inner.successMs : NEVER,
	)
	// Any attempt can end with a failure that this retry passes on. With its own conditions an outer retry may
	// well act on it; otherwise it is permanent or cancelled, and an outer retry treats it like a rejection.
	const passedOnMs = Math.max(inner.unretriedMs, inner.rejectedMs)
	const lastAttempt = {
		...inner,
		unretriedMs: shouldRetry || classify ? passedOnMs : NEVER,
		rejectedMs: shouldRetry || classify ? NEVER : passedOnMs,
		exhaustedMs: worstFailure(inner),
	}
	if (retriedMs < 0) return lastAttempt
	const { min, mean, max } = attemptStarts(settings)
	const inTime = min.filter((ms) => ms <= maxElapsedMs)
	const retries = inTime.length < min.length ? inTime.length - 1 : maxRetries
	const delaysMs = max[retries] ?? Infinity
	const lastStartMs = delaysMs < Infinity && retries ? delaysMs + retries * retriedMs : delaysMs
	const repeatsOperation = inner.unretriedMs >= 0 || retryResult !== undefined
	// Delays count with 0 here: a dependency may ask for a wait that is shorter than any backoff.
	const attempts: Cost['attempts'] = (untilMs) => {
		const each = inner.attempts(untilMs)
		const { attemptsBeforeRejection } = inner
		// The `&&` avoids 0 * Infinity, which is NaN.
		return repeatsOperation
			? each && each * (maxRetries + 1)
			: each + (attemptsBeforeRejection && attemptsBeforeRejection * maxRetries)
	}
	return {
		...addWait(lastAttempt, Math.min(lastStartMs, maxElapsedMs)),
		meanMs: inner.unretriedMs < 0 ? inner.meanMs : meanDuration(inner.meanMs, mean, settings),
		attempts,
		attemptsBeforeRejection: passedOnMs < 0 ? 0 : attempts(Infinity),
	}
}

function meanDuration(attemptMs: number, delays: readonly number[], settings: RetrySettings): number {
	const { maxRetries, maxElapsedMs } = settings
	const starts = delays.map((ms, attempt) => ms + (attempt && attempt * attemptMs))
	const inTime = starts.filter((ms) => ms <= maxElapsedMs)
	const isListed = inTime.length < starts.length || maxRetries <= MAX_LISTED
	return attemptMs + (isListed ? (inTime.at(-1) ?? 0) : maxElapsedMs)
}
