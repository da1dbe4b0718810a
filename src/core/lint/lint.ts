import { Pipeline } from '../engine/pipeline.ts'
import { isPolicy, type Policy } from '../engine/policy.ts'
import { type Inspectable, type Inspection, inspectionOf } from '../observe/inspection.ts'
import { checkNames, invalidArgument, MAX_NUMBER, type OptionSchema, readOptions } from '../options/schema.ts'
import { Timeout } from '../timeout/timeout.ts'
import { finding, type LintFinding } from './finding.ts'
import { checkOrder } from './order-rules.ts'
import { getRetryRatio, type PolicyInfo, parsePipeline } from './parse-pipeline.ts'
import { checkRanges } from './range-rules.ts'
import { computeCost, worstDuration } from './worst-case.ts'

export type { LintFinding } from './finding.ts'

/** Options of `lint`. */
export interface LintOptions {
	/** How long callers wait for the result. Default: unknown, and the worst case is not compared with it. */
	readonly deadlineMs?: number | undefined
}

/**
 * What `lint` returns: the worst case of a policy and its probable mistakes. `String(report)` is a text for
 * logs.
 */
export interface LintReport {
	/** The name of the policy, client or engine. */
	readonly name: string
	/** The maximum duration of a call, queues included; Infinity if nothing limits it. */
	readonly worstMs: number
	/** The duration of a call whose operation hangs, with mean delays and empty queues. */
	readonly meanMs: number
	/** The maximum number of attempts of one call, hedges included. */
	readonly maxAttempts: number
	/** Attempts per call during a long outage, when budgets are exhausted. */
	readonly amplification: number
	readonly findings: readonly LintFinding[]
	toString(): string
}

const LINT_SCHEMA: OptionSchema = { deadlineMs: [0, MAX_NUMBER, Infinity] }

/**
 * Returns the worst case of a policy and its probable mistakes, without running it: the maximum duration and
 * number of attempts, unusual settings, and policies in the wrong order.
 *
 * @example
 * const { findings } = lint(payments, { deadlineMs: 30_000 })
 * expect(findings).toEqual([])
 */
export function lint(policyOrClient: Policy<unknown> | Inspectable, options: LintOptions = {}): LintReport {
	const inspection = inspectionOf(policyOrClient)
	const policy = inspection ? toPolicy(inspection) : policyOrClient
	if (!isPolicy(policy)) invalidArgument('policyOrClient', policy, 'a policy or a client')
	checkNames(options, LINT_SCHEMA, 'lint')
	const { deadlineMs } = readOptions<{ deadlineMs: number }>(options, LINT_SCHEMA)
	return new Report(policy.name, parsePipeline(policy), deadlineMs, inspection)
}

/** Returns the policies of a client with its timeouts as policies. */
function toPolicy({ name, sample }: Inspection): Policy<unknown> {
	const { policies, totalTimeoutMs, timeoutMs } = sample()
	const [total = [], attempt = []] = [totalTimeoutMs, timeoutMs].map((ms) =>
		ms < Infinity ? [new Timeout(ms)] : [],
	)
	return new Pipeline({ name }, [...total, ...policies, ...attempt])
}

class Report implements LintReport {
	readonly name: string
	readonly worstMs: number
	readonly meanMs: number
	readonly maxAttempts: number
	readonly amplification: number
	readonly findings: readonly LintFinding[]

	constructor(name: string, policies: readonly PolicyInfo[], deadlineMs: number, inspection?: Inspection) {
		const cost = computeCost(policies)
		this.name = name
		this.worstMs = worstDuration(cost)
		this.meanMs = cost.meanMs
		this.maxAttempts = cost.attempts(Infinity)
		this.amplification = Math.min(this.maxAttempts, computeAmplification(policies))
		const found = [
			...checkDuration(name, policies, this.worstMs, deadlineMs),
			...policies.flatMap((policy, index) => [...checkOrder(policies, index), ...checkRanges(policy)]),
		]
		const adapted = inspection?.adaptFinding
			? found.flatMap((finding) => inspection.adaptFinding?.(finding) ?? [])
			: found
		this.findings = [...(inspection?.findings?.() ?? []), ...adapted]
	}

	toString(): string {
		const { name, worstMs, meanMs, maxAttempts, amplification, findings } = this
		const attempts = `${maxAttempts} attempt${maxAttempts === 1 ? '' : 's'}`
		return [
			`${name}: at most ${attempts}, worst case ${formatMs(worstMs)}, mean ${formatMs(meanMs)}, amplification ${amplification}`,
			...findings.map((found) => `  ${found.code} (${found.name}): ${found.message} ${found.fix}`),
		].join('\n')
	}
}

const formatMs = (value: number): string => (value < Infinity ? `${Math.round(value)} ms` : 'unlimited')

function checkDuration(
	name: string,
	policies: readonly PolicyInfo[],
	worstMs: number,
	deadlineMs: number,
): readonly LintFinding[] {
	const found: LintFinding[] = []
	if (!policies.some(({ kind }) => kind === 'timeout')) {
		const message = 'Nothing ends an operation that hangs: its call waits forever.'
		found.push(finding('no-timeout', { name }, message, 'Add a timeout as the innermost policy.'))
	}
	if (worstMs > deadlineMs) {
		const message = `A call may take ${formatMs(worstMs)}, but its caller waits ${deadlineMs} ms.`
		const fix = 'Use fewer retries, or shorter delays, queue waits or timeouts.'
		found.push(finding('exceeds-deadline', { name }, message, fix))
	}
	return found
}

/** Policies that share a budget share its ratio. Retries and hedges without a budget count in full. */
function computeAmplification(policies: readonly PolicyInfo[]): number {
	const ratios = new Map<unknown, number>()
	const unbudgeted = policies.filter((policy) => {
		if (policy.kind !== 'retry' && policy.kind !== 'hedge') return true
		const { budget } = policy.settings
		const ratio = getRetryRatio(budget)
		if (ratio !== undefined) ratios.set(budget, ratio)
		return ratio === undefined
	})
	return [...ratios.values()].reduce(
		(attempts, ratio) => attempts * (1 + ratio),
		computeCost(unbudgeted).attempts(Infinity),
	)
}
