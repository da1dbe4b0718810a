/**
 * Policies that defeat each other. Only what is wrong in every case is reported: a breaker or a bulkhead
 * inside a retry is often right, and is reported only if the numbers make it a mistake.
 */
import { CircuitOpenError } from '../errors/errors.ts'
import { finding, type LintFinding } from './finding.ts'
import type { BreakerInfo, PolicyInfo, RetryInfo, TimeoutInfo } from './parse-pipeline.ts'
import { attemptStarts, computeCost, worstDuration } from './worst-case.ts'

/** Checks the policy at `index` against the policies around and inside it. */
export function checkOrder(policies: readonly PolicyInfo[], index: number): readonly LintFinding[] {
	const policy = policies[index]
	const inner = policies.slice(index + 1)
	switch (policy?.kind) {
		case 'timeout':
			return checkTimeout(policy, inner)
		case 'retry':
			return policy.alwaysDefers ? [] : checkRetry(policy, inner)
		case 'hedge': {
			const message = `When the dependency is slow, every call is sent ${policy.settings.maxHedges + 1} times.`
			const fix = 'Add a budget, such as retryBudget(), and share it with the retry.'
			return policy.settings.budget ? [] : [finding('hedge-without-budget', policy, message, fix)]
		}
		case 'fallback':
			if (policy.isConditional) return []
			return policies
				.slice(0, index)
				.filter(reactsToFailures)
				.map(({ name }) => {
					const message = `${name} is outside this fallback and sees only successes, so it never acts.`
					return finding('fallback-hides-failures', policy, message, `Put the fallback outside ${name}.`)
				})
		case 'rate-limiter':
			return inner.filter(isRetrying).map(({ settings: { maxRetries } }) => {
				const { limit } = policy.settings
				const message = `A call counts once, but the retry inside makes up to ${maxRetries + 1} attempts: ${limit} calls can become ${limit * (maxRetries + 1)} requests.`
				const fix = 'Put the rate limiter inside the retry, so that every attempt counts.'
				return finding('rate-limiter-outside-retry', policy, message, fix)
			})
		default:
			return []
	}
}

const isRetrying = (policy: PolicyInfo): policy is RetryInfo =>
	policy.kind === 'retry' && !policy.alwaysDefers && policy.settings.maxRetries > 0

const isTimeout = (policy: PolicyInfo): policy is TimeoutInfo => policy.kind === 'timeout'

const reactsToFailures = (policy: PolicyInfo): boolean =>
	isRetrying(policy) || policy.kind === 'breaker' || policy.kind === 'hedge'

function checkTimeout(timeout: TimeoutInfo, inner: readonly PolicyInfo[]): readonly LintFinding[] {
	const { ms, name } = timeout
	const index = inner.findIndex(isRetrying)
	const retry = inner[index]
	const found: LintFinding[] = []
	for (const policy of index < 0 ? inner : inner.slice(0, index)) {
		const waitMs = longestWait(policy)
		if (waitMs >= ms) {
			const message = `A call can wait ${Math.round(waitMs)} ms here, but ${name} around it ends after ${ms} ms.`
			const fix = `Wait less than ${ms} ms, or put ${name} inside ${policy.name}.`
			found.push(finding('wait-outlasts-timeout', policy, message, fix))
		}
		if (isTimeout(policy) && policy.ms >= ms) {
			const message = `This timeout of ${policy.ms} ms never fires: ${name} around it ends after ${ms} ms.`
			const fix = 'Remove one, or make the inner one shorter.'
			found.push(finding('timeout-never-fires', policy, message, fix))
		}
	}
	if (retry && isRetrying(retry)) found.push(...checkTotalTimeout(timeout, retry, inner.slice(index + 1)))
	return found
}

/** Compares a timeout with the duration of the retry inside it. `attempt`: the policies in the retry. */
function checkTotalTimeout(
	timeout: TimeoutInfo,
	retry: RetryInfo,
	attempt: readonly PolicyInfo[],
): readonly LintFinding[] {
	const { ms } = timeout
	const attemptMs = worstDuration(computeCost(attempt))
	if (attemptMs === Infinity && !attempt.some(isTimeout)) {
		const delaysMs = attemptStarts(retry.settings).max.at(-1) ?? 0
		const message = `One attempt that hangs uses all ${ms} ms, so ${retry.name} inside never retries.`
		const fix = 'Add a shorter timeout inside the retry, for each attempt.'
		return [
			finding('no-attempt-timeout', timeout, message, fix),
			...(delaysMs > ms ? [reportShortTimeout(timeout, retry, delaysMs)] : []),
		]
	}
	if (ms <= attemptMs) {
		const message = `It ends after ${ms} ms, but one attempt inside ${retry.name} can take ${Math.round(attemptMs)} ms.`
		const fix = 'Make it longer than all attempts together.'
		return [finding('timeout-shorter-than-attempt', timeout, message, fix)]
	}
	const totalMs = worstDuration(computeCost([retry, ...attempt]))
	return totalMs > ms ? [reportShortTimeout(timeout, retry, totalMs)] : []
}

const reportShortTimeout = (timeout: TimeoutInfo, retry: RetryInfo, neededMs: number): LintFinding =>
	finding(
		'timeout-shorter-than-schedule',
		timeout,
		`It ends after ${timeout.ms} ms, but ${retry.name} inside can take ${Math.round(neededMs)} ms: the last retries never run.`,
		'Make it longer, or use fewer retries or shorter delays.',
	)

const longestWait = (policy: PolicyInfo): number => {
	if (policy.kind === 'rate-limiter') return policy.settings.maxWaitMs
	return policy.kind === 'bulkhead' && policy.settings.maxQueue ? policy.settings.queueTimeoutMs : 0
}

function checkRetry(retry: RetryInfo, inner: readonly PolicyInfo[]): readonly LintFinding[] {
	const attempts = retry.settings.maxRetries + 1
	if (attempts === 1) return []
	return inner.flatMap((policy) => {
		if (policy.kind === 'bulkhead' && policy.settings.maxQueue) {
			const message = `Each of up to ${attempts} attempts can wait ${policy.settings.queueTimeoutMs} ms in the queue, behind calls that came later.`
			const fix = `Put the bulkhead outside ${retry.name}, or remove its queue (maxQueue: 0).`
			return [finding('bulkhead-inside-retry', policy, message, fix)]
		}
		if (policy.kind !== 'breaker') return []
		const found = checkOpenCircuitRetries(retry, policy)
		const { failureThreshold } = policy.settings
		if (attempts < failureThreshold) return found
		const message = `The circuit opens after ${failureThreshold} failures, and one failing call makes ${attempts} attempts: one call can block all callers.`
		const fix = `Put the breaker outside ${retry.name}, or set failureThreshold above ${attempts}.`
		return [finding('breaker-inside-retry', policy, message, fix), ...found]
	})
}

/**
 * Reports retries that all run while the circuit is still open. By default a retry does not repeat rejected
 * calls; if it does, it waits for the circuit's `retryAfterMs`.
 */
function checkOpenCircuitRetries(retry: RetryInfo, breaker: BreakerInfo): readonly LintFinding[] {
	const { resetTimeoutMs, resetBackoff } = breaker.settings
	// An open time that grows is as short as this at first.
	const openMs = resetBackoff?.baseDelayMs ?? resetTimeoutMs
	const delaysMs = totalDelayWhileOpen(retry, new CircuitOpenError(breaker.name, openMs))
	if (delaysMs === undefined || delaysMs >= openMs) return []
	const message = `It retries calls that the open circuit of ${breaker.name} rejects, for at most ${Math.round(delaysMs)} ms, but the circuit stays open for ${openMs} ms.`
	const fix = 'Return false from shouldRetry for CircuitOpenError, or its retryAfterMs from delayFor.'
	return [finding('open-circuit-retried', retry, message, fix)]
}

/** Returns the sum of the retry's delays for a rejection; undefined if it does not retry rejections. */
function totalDelayWhileOpen({ settings, classify }: RetryInfo, error: CircuitOpenError): number | undefined {
	const { shouldRetry, delayFor } = settings
	const { max } = attemptStarts(settings)
	try {
		const { kind } = classify(error)
		const isRetried = shouldRetry ? shouldRetry(error, 0) : kind !== 'cancelled' && kind !== 'permanent'
		if (!isRetried) return undefined
		if (!delayFor) return error.retryAfterMs
		return max.slice(1).reduce((sum, ms, n) => sum + (delayFor(error, n) ?? ms - (max[n] ?? 0)), 0)
	} catch {
		// A hook may expect other errors and throw for this one. Then nothing is known.
		return undefined
	}
}
