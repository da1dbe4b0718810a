import { isPolicy, type Policy } from '../engine/policy.ts'
import { INSPECT, type Inspectable, isInspectable } from '../inspect/inspect.ts'
import { checkNames, invalidOption, type OptionSchema, readOptions } from '../options/schema.ts'
import { finding, type LintFinding } from './finding.ts'
import { outOfOrder } from './order-rules.ts'
import { type Part, partsOf, ratioOf } from './parse-pipeline.ts'
import { outOfRange } from './ranges.ts'
import { costOf, worstOf } from './worst-case.ts'

export type { LintFinding } from './finding.ts'

/** What a policy is held against. */
export interface LintOptions {
	/** How long its callers wait for an answer. Default: not known, and nothing is held against it. */
	readonly deadlineMs?: number | undefined
}

/** What a policy can come to, and what is probably not meant so. As a string it is readable in a log. */
export interface LintReport {
	/** The policy's name. */
	readonly policy: string
	/** How long a call takes at most, queues and all; Infinity where nothing bounds it. */
	readonly worstMs: number
	/** How long it takes while the work hangs, with waits of mean length and empty queues. */
	readonly meanMs: number
	/** How many calls of the work it makes at most. */
	readonly maxCalls: number
	/** How many calls of the work come of each call in an outage that lasts, when budgets are used up. */
	readonly amplification: number
	readonly findings: readonly LintFinding[]
	toString(): string
}

const RULES: OptionSchema = { deadlineMs: [0, Number.MAX_VALUE, Infinity] }

/**
 * Looks at a policy without running it: how long a call may take, how many calls it may make of one, which settings and which order
 * are probably not what was meant.
 *
 * @example
 * const { findings } = lint(payments, { deadlineMs: 30_000 })
 * expect(findings).toEqual([])
 */
export function lint(policyOrClient: Policy | Inspectable, options: LintOptions = {}): LintReport {
	const policy = isInspectable(policyOrClient) ? policyOrClient[INSPECT]().sample() : policyOrClient
	if (!isPolicy(policy)) invalidOption('lint, first argument', policy, 'a policy or an HTTP client')
	checkNames(options, RULES, 'lint')
	const { deadlineMs } = readOptions<{ deadlineMs: number }>(options, RULES)
	return new Report(policy.name, partsOf(policy), deadlineMs)
}

class Report implements LintReport {
	readonly policy: string
	readonly worstMs: number
	readonly meanMs: number
	readonly maxCalls: number
	readonly amplification: number
	readonly findings: readonly LintFinding[]

	constructor(policy: string, parts: readonly Part[], deadlineMs: number) {
		const cost = costOf(parts)
		this.policy = policy
		this.worstMs = worstOf(cost)
		this.meanMs = cost.meanMs
		this.maxCalls = cost.calls(Infinity)
		this.amplification = Math.min(this.maxCalls, amplificationOf(parts))
		this.findings = [
			...this.#aboutTheWhole(parts, deadlineMs),
			...parts.flatMap((part, place) => [...outOfOrder(parts, place), ...outOfRange(part)]),
		]
	}

	#aboutTheWhole(parts: readonly Part[], deadlineMs: number): readonly LintFinding[] {
		const { policy: name, worstMs } = this
		const found: LintFinding[] = []
		if (!parts.some(({ kind }) => kind === 'timeout'))
			found.push(
				finding(
					'no-timeout',
					{ name },
					'work that hangs is waited for without end',
					'put a timeout innermost',
				),
			)
		if (worstMs > deadlineMs)
			found.push(
				finding(
					'exceeds-deadline',
					{ name },
					`a call may take ${worstMs} ms, and its caller waits for ${deadlineMs} ms`,
					'retry less often, wait less between or in queues, or shorten the timeouts',
				),
			)
		return found
	}

	toString(): string {
		const { policy, worstMs, meanMs, maxCalls, amplification, findings } = this
		const calls = `${maxCalls} call${maxCalls === 1 ? '' : 's'}`
		return [
			`${policy}: at most ${calls} in ${ms(worstMs)}, ${ms(meanMs)} in the mean, ${amplification} times the load in an outage`,
			...findings.map((found) => `  ${found.code} (${found.policy}): ${found.message}; ${found.fix}`),
		].join('\n')
	}
}

const ms = (value: number): string => (value < Infinity ? `${Math.round(value)} ms` : 'any time')

/** Who shares a budget shares what it allows; without one, every repetition counts. */
function amplificationOf(parts: readonly Part[]): number {
	const budgets = new Map<unknown, number>()
	const free = parts.filter((part) => {
		if (part.kind !== 'retry' && part.kind !== 'hedge') return true
		const { budget } = part.settings
		const ratio = ratioOf(budget)
		if (ratio !== undefined) budgets.set(budget, ratio)
		return ratio === undefined
	})
	return [...budgets.values()].reduce((calls, ratio) => calls * (1 + ratio), costOf(free).calls(Infinity))
}
