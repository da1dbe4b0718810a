/** Settings that are outside of what has proved sane. Each policy is looked at alone. */
import { presets } from '../backoff/presets.ts'
import type { RetrySettings } from '../retry/options.ts'
import { type FindingCode, finding, type LintFinding } from './finding.ts'
import type { Part } from './parse-pipeline.ts'

type Range = readonly [code: FindingCode, option: string, value: number, least: number, greatest: number]

export const outOfRange = (part: Part): readonly LintFinding[] => [
	...rangesOf(part)
		.filter(([, , value, least, greatest]) => value < least || value > greatest)
		.map(([code, option, value, least, greatest]) =>
			finding(
				code,
				part,
				`${option} is ${value}, outside of the usual ${least} to ${greatest}`,
				`keep ${option} within ${least} to ${greatest}${part.kind === 'retry' ? ', or take a preset' : ''}`,
			),
		),
	...unspread(part),
]

function rangesOf(part: Part): readonly Range[] {
	if (part.kind === 'retry') return retryRanges(part.settings)
	if (part.kind === 'breaker') {
		const { failureThreshold, resetTimeoutMs, halfOpenMaxConcurrent } = part.settings
		return [
			// Infinity: other rules open this circuit.
			['failure-threshold', 'failureThreshold', failureThreshold === Infinity ? 5 : failureThreshold, 5, 10],
			['reset-timeout', 'resetTimeoutMs', resetTimeoutMs, 15_000, 60_000],
			['half-open-probes', 'halfOpenMaxConcurrent', halfOpenMaxConcurrent, 1, 3],
		]
	}
	// To have no queue at all is a decision and not a matter of proportion.
	if (part.kind !== 'bulkhead' || !part.maxConcurrent || !part.settings.maxQueue) return []
	const { maxConcurrent, settings } = part
	return [['queue-size', 'maxQueue', settings.maxQueue, 2 * maxConcurrent, 5 * maxConcurrent]]
}

/** A preset is sane where its own place is, so who waits as one does may also retry as often. */
function retryRanges(settings: RetrySettings): readonly Range[] {
	const { baseDelayMs, maxDelayMs, maxRetries, growth, jitterStrategy, jitterFactor } = settings
	const like = Object.values(presets).filter(
		(preset) => preset.baseDelayMs === baseDelayMs && preset.maxDelayMs === maxDelayMs,
	)
	const isUsed = typeof growth === 'string' || jitterStrategy.startsWith('decorrelated')
	const ranges: Range[] = []
	if (isUsed && !like.length) {
		ranges.push(['base-delay', 'baseDelayMs', baseDelayMs, 100, 1_000])
		ranges.push(['max-delay', 'maxDelayMs', maxDelayMs, 30_000, 60_000])
	}
	if (!like.some((preset) => preset.maxRetries === maxRetries))
		ranges.push(['retry-count', 'maxRetries', maxRetries, 3, 5])
	if (jitterStrategy === 'proportional') ranges.push(['jitter-factor', 'jitterFactor', jitterFactor, 0, 0.5])
	return ranges
}

function unspread(part: Part): readonly LintFinding[] {
	if (part.kind !== 'retry' || spreadOf(part.settings)) return []
	const why = 'callers that failed together come back together, after each of their waits'
	return [finding('no-jitter', part, why, "take jitterStrategy 'full', the default")]
}

function spreadOf({ jitterStrategy, jitterFactor, jitterRangeMs }: RetrySettings): number {
	if (jitterStrategy === 'proportional') return jitterFactor
	if (jitterStrategy === 'additive') return jitterRangeMs
	return jitterStrategy === 'none' ? 0 : 1
}
