/** The code of a finding. Codes are stable; texts may change. */
export type FindingCode =
	| 'no-timeout'
	| 'no-attempt-timeout'
	| 'timeout-shorter-than-attempt'
	| 'timeout-shorter-than-schedule'
	| 'timeout-never-fires'
	| 'wait-outlasts-timeout'
	| 'exceeds-deadline'
	| 'fallback-hides-failures'
	| 'bulkhead-inside-retry'
	| 'breaker-inside-retry'
	| 'open-circuit-retried'
	| 'rate-limiter-outside-retry'
	| 'hedge-without-budget'
	| 'no-jitter'
	| 'base-delay'
	| 'max-delay'
	| 'retry-count'
	| 'jitter-factor'
	| 'failure-threshold'
	| 'reset-timeout'
	| 'half-open-probes'
	| 'queue-size'
	| 'unused-option'
	| 'principal-from-header'
	| 'lease-too-short'

/** A probable mistake in a policy, and how to fix it: an element of `findings` of `lint(policy)`. */
export interface LintFinding {
	/** Stable: tests and exception lists may use it. */
	readonly code: FindingCode
	/** The problem, with the numbers, as a sentence. */
	readonly message: string
	/** What to change, as a sentence. */
	readonly fix: string
	/** The name of the policy, client or engine that has the problem. */
	readonly name: string
}

export const finding = (
	code: FindingCode,
	{ name }: { readonly name: string },
	message: string,
	fix: string,
): LintFinding => ({ code, message, fix, name })
