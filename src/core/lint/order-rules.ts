/**
 * Policies that stand in each other's way. Only what is wrong whatever was meant is found: that a breaker or a bulkhead stands inside
 * a retry is often right, and is told only where the numbers make it a trap.
 */
import { CircuitOpenError } from '../errors/errors.ts'
import { finding, type LintFinding } from './finding.ts'
import type { BreakerPart, Part, RetryPart, TimeoutPart } from './parse-pipeline.ts'
import { costOf, startsOf, worstOf } from './worst-case.ts'

/** What is found about the part at `place`, given those around it. */
export function outOfOrder(parts: readonly Part[], place: number): readonly LintFinding[] {
	const part = parts[place]
	const outer = parts.slice(0, place)
	const inner = parts.slice(place + 1)
	switch (part?.kind) {
		case 'timeout':
			return besideTimeout(part, inner)
		case 'retry':
			return part.isLeftToOuter ? [] : insideRetry(part, inner)
		case 'hedge':
			return part.settings.budget ? [] : [unbudgeted(part, part.settings.maxHedges)]
		case 'fallback':
			return part.isChoosy ? [] : outer.filter(needsFailures).map((blind) => hidden(part, blind))
		case 'limiter':
			return inner
				.filter(isRetrying)
				.map(({ settings: { maxRetries } }) =>
					finding(
						'rate-limiter-outside-retry',
						part,
						`it counts a call once, and the retry inside makes up to ${maxRetries + 1} of it: ${part.settings.limit} may become ${part.settings.limit * (maxRetries + 1)}`,
						'put the rate limiter inside the retry, so that every request counts',
					),
				)
		default:
			return []
	}
}

const isRetrying = (part: Part): part is RetryPart =>
	part.kind === 'retry' && !part.isLeftToOuter && part.settings.maxRetries > 0

const isTimeout = (part: Part): part is TimeoutPart => part.kind === 'timeout'

const needsFailures = (part: Part): boolean =>
	isRetrying(part) || part.kind === 'breaker' || part.kind === 'hedge'

const hidden = (part: Part, blind: Part): LintFinding =>
	finding(
		'fallback-hides-failures',
		part,
		`${blind.name} stands outside of it, takes every answer of the fallback for a success and never acts`,
		`put the fallback outside of ${blind.name}`,
	)

const unbudgeted = (part: Part, maxHedges: number): LintFinding =>
	finding(
		'hedge-without-budget',
		part,
		`when everything is slow, every call is made ${maxHedges + 1} times`,
		'give it a budget, such as retryBudget(), and share it with the retry',
	)

function besideTimeout(part: TimeoutPart, inner: readonly Part[]): readonly LintFinding[] {
	const { ms } = part
	const at = inner.findIndex(isRetrying)
	const retry = inner[at]
	const found: LintFinding[] = []
	for (const waiting of at < 0 ? inner : inner.slice(0, at)) {
		const waitMs = longestWait(waiting)
		if (waitMs >= ms)
			found.push(
				finding(
					'wait-outlasts-timeout',
					waiting,
					`a call may wait ${waitMs} ms here, and ${part.name} around it ends after ${ms} ms: the wait alone uses it up`,
					`wait less than ${ms} ms, or put ${part.name} inside of ${waiting.name}`,
				),
			)
		if (isTimeout(waiting) && waiting.ms >= ms)
			found.push(
				finding(
					'timeout-never-fires',
					waiting,
					`its ${waiting.ms} ms are never reached, for ${part.name} around it ends after ${ms} ms`,
					'leave one of the two out, or make the inner one shorter',
				),
			)
	}
	return retry && isRetrying(retry) ? [...found, ...aroundRetry(part, retry, inner.slice(at + 1))] : found
}

/** The limit of the whole against what is inside of it. */
function aroundRetry(part: TimeoutPart, retry: RetryPart, attempt: readonly Part[]): readonly LintFinding[] {
	const { ms } = part
	const attemptMs = worstOf(costOf(attempt))
	const waitsMs = startsOf(retry.settings).greatest.at(-1) ?? 0
	const wholeMs = worstOf(costOf([retry, ...attempt]))
	if (attemptMs === Infinity && !attempt.some(isTimeout))
		return [
			finding(
				'no-attempt-timeout',
				part,
				`one attempt that hangs takes all of its ${ms} ms, and ${retry.name} inside never gets to retry`,
				'put a shorter timeout inside the retry, for each attempt',
			),
			...(waitsMs > ms ? [tooShort(part, retry, waitsMs)] : []),
		]
	if (ms <= attemptMs)
		return [
			finding(
				'timeout-shorter-than-attempt',
				part,
				`it ends after ${ms} ms, and one attempt inside of ${retry.name} may take ${attemptMs} ms`,
				'make it longer than all attempts, or the attempts shorter',
			),
		]
	return wholeMs > ms ? [tooShort(part, retry, wholeMs)] : []
}

const tooShort = (part: TimeoutPart, retry: RetryPart, neededMs: number): LintFinding =>
	finding(
		'timeout-shorter-than-schedule',
		part,
		`it ends after ${part.ms} ms, and ${retry.name} inside may take ${neededMs} ms: the last retries are never made`,
		'make it longer, or retry less often or sooner',
	)

const longestWait = (part: Part): number => {
	if (part.kind === 'limiter') return part.settings.maxWaitMs
	return part.kind === 'bulkhead' && part.settings.maxQueue ? part.settings.queueTimeoutMs : 0
}

function insideRetry(retry: RetryPart, inner: readonly Part[]): readonly LintFinding[] {
	const attempts = retry.settings.maxRetries + 1
	if (attempts === 1) return []
	return inner.flatMap((part) => {
		if (part.kind === 'bulkhead' && part.settings.maxQueue)
			return [
				finding(
					'bulkhead-inside-retry',
					part,
					`each of up to ${attempts} attempts may wait ${part.settings.queueTimeoutMs} ms in its queue, behind calls that came later`,
					`put the bulkhead outside of ${retry.name}, or give it no queue (maxQueue: 0)`,
				),
			]
		return part.kind === 'breaker' ? [...tripped(retry, part, attempts), ...knocking(retry, part)] : []
	})
}

function tripped(retry: RetryPart, part: BreakerPart, attempts: number): readonly LintFinding[] {
	const { failureThreshold } = part.settings
	if (attempts < failureThreshold) return []
	return [
		finding(
			'breaker-inside-retry',
			part,
			`it opens after ${failureThreshold} failures, and one call that fails for good makes ${attempts}: a single bad call shuts everybody out`,
			`put the breaker outside of ${retry.name}, or have failureThreshold above ${attempts}`,
		),
	]
}

/** Retries that are all refused by the same open circuit. By default none is made, and one that is waits as long as the circuit asks. */
function knocking(retry: RetryPart, part: BreakerPart): readonly LintFinding[] {
	const { resetTimeoutMs } = part.settings
	const waitsMs = waitsBesideOpen(retry, new CircuitOpenError(part.name, resetTimeoutMs))
	if (waitsMs === undefined || waitsMs >= resetTimeoutMs) return []
	return [
		finding(
			'open-circuit-retried',
			retry,
			`it retries what the open circuit of ${part.name} refuses, for ${waitsMs} ms at most: the circuit stays open for ${resetTimeoutMs} ms`,
			'let shouldRetry answer false for CircuitOpenError, or delayFor answer its retryAfterMs',
		),
	]
}

/** How long the retry waits in all while a circuit stays open; undefined when it does not retry that. */
function waitsBesideOpen({ settings, classify }: RetryPart, error: CircuitOpenError): number | undefined {
	const { shouldRetry, delayFor } = settings
	const { greatest } = startsOf(settings)
	try {
		const { kind } = classify(error)
		const isRetried = shouldRetry ? shouldRetry(error, 0) : kind !== 'cancelled' && kind !== 'permanent'
		if (!isRetried) return undefined
		if (!delayFor) return error.retryAfterMs
		return greatest.slice(1).reduce((sum, ms, n) => sum + (delayFor(error, n) ?? ms - (greatest[n] ?? 0)), 0)
	} catch {
		// A hook that expects an error of its own kind has no opinion about this one.
		return undefined
	}
}
