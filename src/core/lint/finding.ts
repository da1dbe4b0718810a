/** What lint found. The code is stable, the texts are not. */
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

/** One thing that is probably not what was meant. */
export interface LintFinding {
	/** Stable: what a test or an exception list may name. */
	readonly code: FindingCode
	/** What is wrong, with the numbers. */
	readonly message: string
	/** What to do about it. */
	readonly fix: string
	/** The name of the policy that it is about. */
	readonly policy: string
}

export const finding = (
	code: FindingCode,
	{ name: policy }: { readonly name: string },
	message: string,
	fix: string,
): LintFinding => ({ code, message, fix, policy })
