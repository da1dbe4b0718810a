/**
 * The results of an incident replay over all scenarios that the events allow. Where these agree, charts and
 * tables show one of them. Where they do not, they show the scenario with the lowest and the one with the
 * highest share of good calls, so that no single figure passes for a result. Where the scenario does not
 * reproduce the log, they show none: its runs are of another incident.
 */
import { type Caveat, type IncidentSummary, listFindings } from '../../sim/incident/summary.ts'
import {
	formatShares,
	formatVerdict,
	goodShareOf,
	isReproduced,
	judgeReplay,
	listMissing,
	type ReplayVerdict,
} from '../../sim/incident/verdict.ts'
import { faultPeriods } from '../../sim/measure/recovery-tracker.ts'
import { scheduledFaults } from '../../sim/model/fault-schedule.ts'
import { casesWithRuns, type StudyCaseResult, type StudyResult } from '../../sim/report/study-result.ts'
import { NOT_REPRODUCED } from '../../sim/run/expect.ts'
import { isGrid } from '../../sim/run/study.ts'
import { formatCount, joinList } from '../../text/format.ts'
import { sanitizeLine } from '../../text/sanitize.ts'
import { formatTable } from '../../text/table.ts'
import { wrap } from '../../text/width.ts'

/** The results of one policy over all scenarios. */
export interface PolicyRange extends ReplayVerdict {
	readonly policy: string
}

const SEPARATOR = ', alternative '

export const alternativeName = (policy: string, index: number): string => `${policy}${SEPARATOR}${index + 1}`

export const policyOf = (variant: string): string => variant.split(SEPARATOR)[0] ?? variant

/** The result of a replay, as reports show it. */
export interface ReplayResult {
	/**
	 * Nothing if the log is not reproduced. Otherwise a case per policy or, where its scenarios disagree, the
	 * one with the lowest and the one with the highest share of good calls.
	 */
	readonly shown: StudyResult
	/** The range of each policy. Empty if there is only one scenario, and it reproduces the log. */
	readonly ranges: readonly PolicyRange[]
	/** Whether `shown` has the scenario whose faults are the shortest. */
	readonly isShortest: boolean
}

/** Separates the runs to show from those that are only in ranges. */
export function splitAlternatives(result: StudyResult, caveats: readonly Caveat[]): ReplayResult {
	const { study } = result
	const policies = [...new Set(result.cases.map(({ case: { name } }) => policyOf(name)))]
	if (isGrid(study) || (policies.length === result.cases.length && isReproduced(caveats)))
		return { shown: result, ranges: [], isShortest: true }
	const judged = policies.map((policy) => ({ policy, ...judgePolicy(policy, result, caveats) }))
	const cases = judged.flatMap(({ cases: shown }) => shown)
	const variants = Object.fromEntries(cases.map(({ case: { name, scenario } }) => [name, scenario]))
	return {
		shown: {
			study: { ...study, variants },
			cases,
			planned: (result.planned / result.cases.length) * cases.length,
		},
		ranges: judged.map(({ policy, verdict }) => ({ policy, ...verdict })),
		isShortest: hasShortestFaults(result.cases),
	}
}

function judgePolicy(
	policy: string,
	result: StudyResult,
	caveats: readonly Caveat[],
): { readonly verdict: ReplayVerdict; readonly cases: readonly StudyCaseResult[] } {
	const own = result.cases.filter(({ case: { name } }) => policyOf(name) === policy)
	const verdict = judgeReplay(
		own.map(({ case: one, runs }) => ({ runs, hasFault: scheduledFaults(one.scenario).length > 0 })),
		caveats,
	)
	if (!verdict.isReproduced) return { verdict, cases: [] }
	if (verdict.isDecided) return { verdict, cases: own.slice(0, 1) }
	const sorted = own
		.filter(({ runs }) => runs.length > 0)
		.sort((a, b) => goodShareOf(a.runs) - goodShareOf(b.runs))
	const [lowest, highest] = [sorted[0], sorted.at(-1)]
	const named = (one: StudyCaseResult | undefined, which: string): readonly StudyCaseResult[] =>
		one ? [{ ...one, case: { ...one.case, name: `${policy}, ${which} of ${verdict.scenarios}` } }] : []
	return { verdict, cases: [...named(lowest, 'lowest'), ...named(highest, 'highest')] }
}

/** Returns whether no scenario has shorter faults than the first. */
function hasShortestFaults([first, ...others]: readonly StudyCaseResult[]): boolean {
	const lengthOf = ({ case: { scenario } }: StudyCaseResult): number =>
		faultPeriods(scheduledFaults(scenario)).reduce((sum, { fromMs, toMs }) => sum + toMs - fromMs, 0)
	return first !== undefined && others.every((other) => lengthOf(first) <= lengthOf(other))
}

const undecided = (ranges: readonly PolicyRange[]): readonly PolicyRange[] =>
	ranges.filter(({ isDecided }) => !isDecided)

/** Formats what the log does not decide, and which measurement would. Empty if it decides everything. */
export function formatUndecided(
	ranges: readonly PolicyRange[],
	summary: IncidentSummary,
	width: number,
): string {
	const policies = undecided(ranges).map(({ policy }) => policy)
	if (policies.length === 0) return ''
	const why = isReproduced(summary.caveats) ? '' : ` The reason: ${NOT_REPRODUCED}.`
	const lines = [
		`Cannot be decided from this log: how the incident would have gone with ${joinList(policies, 'and', policies.length)}.${why}`,
		...listMissing(summary.caveats),
	]
	return lines.flatMap((line) => wrap(sanitizeLine(line), width, 'truncate')).join('\n')
}

export function formatRanges({ ranges, isShortest }: ReplayResult, width: number): string {
	const [first] = ranges
	if (!first?.isReproduced) return ''
	const rows = ranges.map(({ policy, goodShare, scenarios, recovered, isDecided }) => [
		policy,
		formatShares(goodShare),
		`${recovered} of ${scenarios}`,
		isDecided ? 'yes' : 'no',
	])
	const lines = [
		`The events allow ${formatCount(first.scenarios, 'scenario')}.`,
		...(undecided(ranges).length < ranges.length && isShortest
			? ['A policy with one row above is shown in the one with the shortest faults.']
			: []),
		'Over all of them:',
	]
	const title = wrap(lines.join(' '), width, 'truncate').join('\n')
	return `${title}\n${formatTable({ head: ['', 'good', 'recovers in', 'decided'], rows }, { width })}`
}

/** Returns what every output of a replay must show: faults, caveats, ranges, what would decide them. */
const listNotes = (ranges: readonly PolicyRange[], summary: IncidentSummary): readonly string[] => [
	...listFindings(summary),
	...ranges.map(({ policy, ...verdict }) => sanitizeLine(`${policy}: ${formatVerdict(verdict)}.`)),
	...(undecided(ranges).length > 0 ? listMissing(summary.caveats).map(sanitizeLine) : []),
]

/** Returns the result with the notes of its incident, if it is a replay. */
export const withNotes = (
	result: StudyResult,
	ranges: readonly PolicyRange[],
	summary: IncidentSummary | undefined,
): StudyResult =>
	summary && (casesWithRuns(result).length > 0 || undecided(ranges).length > 0)
		? { ...result, notes: listNotes(ranges, summary) }
		: result
