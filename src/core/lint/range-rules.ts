/** Settings outside the ranges that work in practice, or without effect. Each policy is checked alone. */
import { presets } from '../backoff/presets.ts'
import type { RetrySettings } from '../retry/options.ts'
import { type FindingCode, finding, type LintFinding } from './finding.ts'
import type { PolicyInfo } from './parse-pipeline.ts'

type Range = readonly [code: FindingCode, option: string, value: number, min: number, max: number]

export const checkRanges = (policy: PolicyInfo): readonly LintFinding[] => [
	...listRanges(policy)
		.filter(([, , value, min, max]) => value < min || value > max)
		.map(([code, option, value, min, max]) =>
			finding(
				code,
				policy,
				`${option} is ${value}, outside the usual range from ${min} to ${max}.`,
				`Choose ${option} from ${min} to ${max}${policy.kind === 'retry' ? ', or use a preset' : ''}.`,
			),
		),
	...checkJitter(policy),
]

function listRanges(policy: PolicyInfo): readonly Range[] {
	if (policy.kind === 'retry') return listRetryRanges(policy.settings)
	if (policy.kind === 'breaker') {
		const { failureThreshold, resetTimeoutMs, resetBackoff, halfOpenMaxConcurrent } = policy.settings
		return [
			// Infinity: rates open this circuit.
			['failure-threshold', 'failureThreshold', failureThreshold === Infinity ? 5 : failureThreshold, 5, 10],
			// A fleet with a fixed, short open time probes in step. One that grows has jitter.
			['reset-timeout', 'resetTimeoutMs', resetTimeoutMs, resetBackoff ? 1_000 : 15_000, 60_000],
			['half-open-probes', 'halfOpenMaxConcurrent', halfOpenMaxConcurrent, 1, 3],
		]
	}
	// A bulkhead without a queue is a decision, not a wrong size. Nor is the default a mistake of the user.
	if (policy.kind !== 'bulkhead' || !policy.maxConcurrent || !policy.givenQueue) return []
	const { maxConcurrent, givenQueue } = policy
	return [['queue-size', 'maxQueue', givenQueue, 2 * maxConcurrent, 5 * maxConcurrent]]
}

/** With the delays of a preset, its number of retries is fine too, even outside the usual range. */
function listRetryRanges(settings: RetrySettings): readonly Range[] {
	const { baseDelayMs, maxDelayMs, maxRetries, growth, jitterStrategy, jitterFactor } = settings
	const similar = Object.values(presets).filter(
		(preset) => preset.baseDelayMs === baseDelayMs && preset.maxDelayMs === maxDelayMs,
	)
	const usesDelays = typeof growth === 'string' || jitterStrategy.startsWith('decorrelated')
	const ranges: Range[] = []
	if (usesDelays && !similar.length) {
		ranges.push(['base-delay', 'baseDelayMs', baseDelayMs, 100, 1_000])
		ranges.push(['max-delay', 'maxDelayMs', maxDelayMs, 30_000, 60_000])
	}
	// A retry without retries is a decision, not a wrong number.
	if (maxRetries > 0 && !similar.some((preset) => preset.maxRetries === maxRetries))
		ranges.push(['retry-count', 'maxRetries', maxRetries, 2, 5])
	if (jitterStrategy === 'proportional') ranges.push(['jitter-factor', 'jitterFactor', jitterFactor, 0, 0.5])
	return ranges
}

function checkJitter(policy: PolicyInfo): readonly LintFinding[] {
	if (policy.kind !== 'retry') return []
	const { given, settings } = policy
	const { jitterStrategy } = settings
	const used = JITTER_AMOUNTS.find(([, strategy]) => strategy === jitterStrategy)
	const hasJitter = used ? settings[used[0]] > 0 : jitterStrategy !== 'none'
	const message = 'Without jitter, clients that fail together retry together.'
	const none = finding('no-jitter', policy, message, "Use jitterStrategy 'full', the default.")
	const unused = JITTER_AMOUNTS.filter((amount) => amount !== used && given[amount[0]] !== undefined)
	return [
		...(hasJitter ? [] : [none]),
		...unused.map(([option, strategy]) => {
			const message = `${option} has no effect, because jitterStrategy is '${jitterStrategy}'.`
			return finding('unused-option', policy, message, `Remove it, or use jitterStrategy '${strategy}'.`)
		}),
	]
}

/**
 * The amounts of jitter, and the strategy that uses each. Spreading a preset leaves one behind, so an unused
 * one is no error.
 */
const JITTER_AMOUNTS = [
	['jitterFactor', 'proportional'],
	['jitterRangeMs', 'additive'],
] as const
