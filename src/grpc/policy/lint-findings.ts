/** What `lint` reports about a gRPC client, in the terms of its service config. */
import type { FindingCode, LintFinding } from '../../core/lint/finding.ts'

/** Ranges of core's own options. The rules of A6 limit attempts and jitter, and its backoffs are those of the config's author. */
const FOR_CORE: ReadonlySet<FindingCode> = new Set([
	'base-delay',
	'max-delay',
	'retry-count',
	'jitter-factor',
])

const FIXES: Partial<Record<FindingCode, string>> = {
	'no-timeout': 'Set timeout in the method config, or a deadline for each call.',
	'no-attempt-timeout':
		'Use a hedgingPolicy where a server may hang: gRPC has no timeout for a single attempt.',
}

/** Returns undefined for a finding that does not apply to gRPC. */
export function adaptFinding(finding: LintFinding): LintFinding | undefined {
	const { code, fix } = finding
	return FOR_CORE.has(code) ? undefined : { ...finding, fix: FIXES[code] ?? fix }
}
