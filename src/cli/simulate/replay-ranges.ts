/**
 * The range of results over all scenarios that the events of an incident allow. Charts and tables show the one with the shortest faults; a policy that
 * looks good there may fail in another that explains the events as well.
 */
import type { StudyCaseResult, StudyResult } from '../../sim/report/study-result.ts'
import { isGrid } from '../../sim/run/study.ts'
import { formatCount, formatPercent } from '../../text/format.ts'
import { formatTable } from '../../text/table.ts'

/** The results of one policy over all scenarios. */
export interface PolicyRange {
	readonly policy: string
	/** The lowest and the highest mean share of good calls, 0 to 1. */
	readonly goodShare: readonly [number, number]
	/** The number of scenarios, and of those in which every run recovers. */
	readonly scenarios: number
	readonly recovered: number
}

const SEPARATOR = ', alternative '

export const alternativeName = (policy: string, index: number): string => `${policy}${SEPARATOR}${index + 1}`

/** Returns the name of the policy of a variant. */
export const policyOf = (variant: string): string => variant.split(SEPARATOR)[0] ?? variant

/** Separates the runs in alternatives, which are only reported as ranges, from those to show. */
export function splitAlternatives(result: StudyResult): {
	readonly shown: StudyResult
	readonly ranges: readonly PolicyRange[]
} {
	const { study } = result
	const cases = result.cases.filter((one) => policyOf(one.case.name) === one.case.name)
	if (isGrid(study) || cases.length === result.cases.length) return { shown: result, ranges: [] }
	const isShown = (name: string) => policyOf(name) === name
	const variants = Object.fromEntries(Object.entries(study.variants).filter(([name]) => isShown(name)))
	return {
		shown: {
			...{ study: { ...study, variants }, cases },
			planned: (result.planned / result.cases.length) * cases.length,
		},
		ranges: cases.map((one) => rangeOf(one.case.name, result.cases)),
	}
}

function rangeOf(policy: string, cases: readonly StudyCaseResult[]): PolicyRange {
	const own = cases.filter((one) => policyOf(one.case.name) === policy && one.runs.length > 0)
	const shares = own.map(
		({ runs }) => runs.reduce((sum, { totals }) => sum + totals.goodShare, 0) / runs.length,
	)
	const recovers = ({ runs }: StudyCaseResult) =>
		runs.every(({ recovery }) => recovery === null || recovery.recoveredAfterMs !== null)
	return {
		...{ policy, goodShare: [Math.min(...shares), Math.max(...shares)] },
		...{ scenarios: own.length, recovered: own.filter(recovers).length },
	}
}

/** Formats ranges as a table. */
export function formatRanges(ranges: readonly PolicyRange[], width: number): string {
	const [first] = ranges
	if (!first) return ''
	const rows = ranges.map(({ policy, goodShare: [min, max], scenarios, recovered }) => [
		policy,
		formatRange(min, max),
		`${recovered} of ${scenarios}`,
	])
	const title = [
		`The events allow ${formatCount(first.scenarios, 'scenario')}. Above is the one with the shortest faults that`,
		'explain them. Over all of them:',
	].join('\n')
	return `${title}\n${formatTable({ head: ['', 'good', 'recovers in'], rows }, { width })}`
}

function formatRange(min: number, max: number): string {
	const [low, high] = [formatPercent(min, 0), formatPercent(max, 0)]
	return low === high ? low : `${low.replace(' %', '')} to ${high}`
}
