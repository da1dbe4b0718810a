/** The result of `--tune` as data and as text: the change, before and after, TypeScript to paste. */
import { listMissing } from '../../../sim/incident/verdict.ts'
import type { Estimate } from '../../../sim/measure/estimate.ts'
import { MEASURES, type MeasureName } from '../../../sim/measure/measures.ts'
import { mergeRuns, type Replications } from '../../../sim/measure/replications.ts'
import { estimateText, measuresTable } from '../../../sim/report/measures-table.ts'
import { formatActual } from '../../../sim/run/expect.ts'
import type { PolicyLayer } from '../../../sim/scenario/layers.ts'
import type { Scenario } from '../../../sim/scenario/scenario.ts'
import { literal, policyToTypeScript } from '../../../sim/scenario/source.ts'
import type { TuneChange } from '../../../sim/tune/changes.ts'
import { findViolations, relativeGap, type TuneConstraints } from '../../../sim/tune/constraints.ts'
import { isSignificant } from '../../../sim/tune/sensitivity.ts'
import type {
	BestSingle,
	NearestMiss,
	SettingSensitivity,
	TuneResult,
} from '../../../sim/tune/tune-result.ts'
import { sanitizeLine, sanitizeText } from '../../../text/sanitize.ts'
import type { Style } from '../../../text/style.ts'
import { formatTable } from '../../../text/table.ts'
import type { CommandIo } from '../../io.ts'
import { alternativeName } from '../replay-ranges.ts'
import type { LoadedIncident } from '../run-study.ts'
import { constraintTexts, limitTexts } from './tune-input.ts'

export interface TuneOutput {
	readonly title: string
	readonly scenario: Scenario
	readonly incident: LoadedIncident | undefined
	readonly constraints: TuneConstraints
	readonly objective: MeasureName
	readonly replications: number
	readonly maxSteps: number | undefined
	readonly result: TuneResult
	/** True if Ctrl-C ended the search. */
	readonly isInterrupted: boolean
}

export function toText(output: TuneOutput, { columns, style }: Pick<CommandIo, 'columns' | 'style'>): string {
	const { title, incident, constraints, replications, result, isInterrupted } = output
	const { changes, policies, before, after, nearest, sensitivity, steps, scenarios, bestSingle } = result
	const shown = after
		? { name: 'after', changes, policies, runs: after }
		: nearest && { ...nearest, name: 'nearest', runs: nearest.after }
	const perScenario = replications === 1 ? 'the run' : `each of ${replications} runs`
	const runs =
		scenarios === 1
			? perScenario
			: `${perScenario} in each of the ${scenarios} scenarios that the events allow`
	const other = bestSingle && isOther(bestSingle.change, shown?.changes ?? []) ? bestSingle : undefined
	const rows = [
		...rowsOf('before', before, scenarios),
		...(shown?.runs && shown.changes.length > 0 ? rowsOf(shown.name, shown.runs, scenarios) : []),
		...(other && result.survives ? rowsOf('best single', other.after, scenarios) : []),
	]
	const table = { width: columns, style }
	const measures = measuresTable(asStudy(output, rows))
	return [
		...(incident ? [incident.text] : []),
		style.bold(sanitizeLine(title)),
		`Constraints for ${runs}: ${constraintTexts(constraints).join(', ')}`,
		verdict(output),
		...(nearest ? [`${style.bold('Nearest miss')}: ${missText(nearest, scenarios)}`] : []),
		...(shown && shown.changes.length > 0
			? [shown.changes.map((change) => sanitizeText(changeText(change))).join('\n')]
			: []),
		...(other ? [bestSingleText(other, output)] : []),
		...(before.runs.length > 0 ? [[formatTable(measures.table, table), ...measures.notes].join('\n')] : []),
		// A policy to paste would pass for a recommendation, although it helps only in some of the scenarios.
		...(after || scenarios === 1 ? sources(shown?.changes ?? [], shown?.policies ?? {}, style) : []),
		...(result.survives ? [] : [consideredText(result)]),
		...(sensitivity ? [sensitivityText(sensitivity, { ...table, replications })] : []),
		`${steps.length} ${steps.length === 1 ? 'policy' : 'policies'} tried.`,
		...(isInterrupted ? [style.yellow('Interrupted: the search is not complete.')] : []),
	].join('\n\n')
}

/** The last line of a search without a result, which is the reason for the exit code. */
export function failureText({ result: { steps }, maxSteps }: TuneOutput): string {
	const isLimited = steps.length === maxSteps
	return `No policy satisfies all constraints: ${steps.length} tried${isLimited ? ', the limit of --max-steps' : ''}.`
}

function verdict({ result, incident, constraints, isInterrupted }: TuneOutput): string {
	const { survives, changes, before, nearest, scenarios } = result
	if (!survives) {
		const none = `No policy${isInterrupted ? ' so far' : ''} satisfies all constraints`
		if (scenarios === 1) return `${none}.`
		const satisfied = (runs: Replications | undefined): number =>
			splitRuns(runs?.runs ?? [], scenarios).filter(
				(own) => own.length > 0 && own.every((run) => findViolations(constraints, run).length === 0),
			).length
		const counts = `The policies as they are satisfy them in ${satisfied(before)} of ${scenarios}, the nearest miss in ${satisfied(nearest?.after)}.`
		const isDisputed = Math.max(satisfied(before), satisfied(nearest?.after)) > 0
		const missing = isDisputed && incident ? listMissing(incident.data.caveats) : []
		return [
			`${none} in each scenario. ${counts}`,
			...(isDisputed ? ['Cannot be decided from this log: the scenarios disagree.'] : []),
			...missing.map(sanitizeLine),
		].join('\n')
	}
	if (changes.length === 0) return 'The policies satisfy all constraints without a change.'
	return `The smallest change that satisfies all constraints${isInterrupted ? ' so far' : ''}:`
}

/** Returns the runs of each scenario. They are ordered by seed, then by scenario. */
const splitRuns = (runs: Replications['runs'], scenarios: number): readonly Replications['runs'][] =>
	Array.from({ length: scenarios }, (_, scenario) =>
		runs.filter((_, index) => index % scenarios === scenario),
	)

type Row = Pick<Replications, 'runs'> & { readonly name: string }

/** A row per scenario: the mean over scenarios that exclude each other is the result of none of them. */
const rowsOf = (name: string, { runs }: Replications, scenarios: number): readonly Row[] =>
	splitRuns(runs, scenarios).map((own, scenario) => ({
		name: scenario === 0 ? name : alternativeName(name, scenario - 1),
		runs: own,
	}))

const isOther = (change: TuneChange, changes: readonly TuneChange[]): boolean =>
	changes.length !== 1 || changes[0]?.path !== change.path || changes[0].to !== change.to

function bestSingleText({ change, violation, after }: BestSingle, { objective, result }: TuneOutput): string {
	const text = sanitizeText(changeText(change))
	if (!result.survives)
		return `The single change that comes closest:\n${text}${violation ? `\n  ${missText({ violation, after, changes: [change] }, result.scenarios)}` : ''}`
	return `The best single change, by ${objective}:\n${text}`
}

/** Formats what the search could change: without a result, other settings may still help. */
function consideredText({ considered, scenarios }: TuneResult): string {
	const lines = considered.map(({ path, from, to }) => {
		const values = to.map((value) =>
			Object(value) === value ? `added as ${literal(value).replaceAll(/\s+/g, ' ')}` : literal(value),
		)
		const now = from === undefined ? '' : `, now ${literal(from)}`
		return `  ${path}: ${values.join(', ')}${now}`
	})
	const where = scenarios === 1 ? '' : `, in ${scenarios} scenarios`
	return sanitizeText(`Considered, alone and in pairs${where}:\n${lines.join('\n')}`)
}

export function changeText({ path, policy, layer, kind, isAdded, from, to }: TuneChange): string {
	if (!isAdded) {
		const instead = from === undefined ? '' : ` instead of ${literal(from)}`
		return `  Set ${path} to ${literal(to)}${instead}.`
	}
	const place = layer === 0 ? 'outermost' : `inside ${policy}[${layer - 1}]`
	const options = Object(to) === to && Object.keys(to as object).length === 0 ? 'with defaults' : literal(to)
	return `  Add ${kind} to ${policy}, ${place}: ${options}.`
}

/** Formats the violation of the nearest miss, with its excess in percent of the limit. */
function missText(
	{ violation, after, changes }: Pick<NearestMiss, 'violation' | 'after' | 'changes'>,
	scenarios: number,
): string {
	const { measure, actual, limit, seed, distance, scenario } = violation
	const run = splitRuns(after?.runs ?? [], scenarios)[scenario]?.find((one) => one.seed === seed)
	const value = run ? formatActual(measure, actual, run) : (actual ?? 'none')
	// The distance is measured to one of the limits, which is named here. A limit of 0 has no percentage.
	const bound = Object.values(limit).find((one) => one > 0 && relativeGap(actual, one) === distance)
	const excess = actual === null || bound === undefined ? 0 : Math.round((100 * (actual - bound)) / bound)
	const much = excess === 0 ? '' : `, ${Math.abs(excess)} % ${excess > 0 ? 'above' : 'below'} the limit`
	const where = scenario === 0 ? '' : `alternative ${scenario}, `
	const change = changes.length === 0 ? ' No change comes closer than the policies as they are.' : ''
	return `${measure} is ${value} instead of ${limitTexts(limit).join(' and ')}${much} (${where}seed ${seed}).${change}`
}

function sources(
	changes: readonly TuneChange[],
	policies: Readonly<Record<string, readonly PolicyLayer[]>>,
	style: Style,
): readonly string[] {
	const changed = new Set(changes.map(({ policy }) => policy))
	return Object.entries(policies)
		.filter(([name]) => changed.has(name))
		.map(
			([name, layers]) =>
				`${style.bold(`Policy ${sanitizeLine(name)}`)}\n\n${sanitizeText(policyToTypeScript(layers).trimEnd())}`,
		)
}

/** Returns before and after as a study, so that both are shown in the table of a study. */
function asStudy({ title, scenario, constraints, objective }: TuneOutput, rows: readonly Row[]) {
	const constrained = Object.keys(constraints) as MeasureName[]
	const measures = [...new Set<MeasureName>([...constrained, objective, 'goodShare', 'amplification'])]
	return {
		study: { title, measures, variants: Object.fromEntries(rows.map(({ name }) => [name, scenario])) },
		cases: rows.map(({ name, runs }) => ({ case: { name, scenario }, runs })),
		planned: rows.reduce((sum, { runs }) => sum + runs.length, 0),
	}
}

/** Returns which setting matters most: a row per setting, with its strongest alternative. */
function sensitivityText(
	settings: readonly SettingSensitivity[],
	{ width, style, replications }: { width: number; style: Style; replications: number },
): string {
	const title = style.bold('Which setting matters most')
	if (replications < 2)
		return `${title}\nUnknown: a difference needs an interval, and so at least 2 replications.`
	const measures = Object.keys(settings[0]?.alternatives[0]?.differences ?? {}) as MeasureName[]
	const rows = settings.flatMap(({ path, alternatives, strongest }) => {
		// One row per setting, but all measures: what lowers a latency may do so by failing more calls.
		const shown = strongest && alternatives.find(({ to }) => to === strongest.to)
		if (!shown) return []
		return [[path, valueText(shown.to), ...measures.map((name) => effectText(name, shown.differences[name]))]]
	})
	const head = ['single change', 'to', ...measures.map((name) => MEASURES[name].label)]
	const noise = settings.flatMap(({ path, strongest }) => (strongest ? [] : [path]))
	return [
		`${title}\n`,
		...(rows.length > 0 ? [formatTable({ head, rows }, { width, style })] : []),
		...(noise.length > 0
			? [`${rows.length > 0 ? '\n' : ''}Within noise: ${sanitizeLine(noise.join(', '))}.`]
			: []),
	].join('\n')
}

/** A whole layer or a budget would make the table unreadable. */
const valueText = (value: unknown): string => (Object(value) === value ? 'added' : literal(value))

function effectText(measure: MeasureName, difference: Estimate | undefined): string {
	if (!difference || !isSignificant(difference)) return 'noise'
	return `${difference.mean > 0 ? '+' : ''}${estimateText(measure, difference)}`
}

/** The result of `--tune` as data, for `--json`: what `tune` returns, with estimates instead of every run. */
export function toDocument({ result, isInterrupted, scenario: _, incident, ...search }: TuneOutput): object {
	const { before, after, nearest, bestSingle, policy: _first, policies, ...found } = result
	const estimates = (runs: Replications) => estimatesOf(runs, result.scenarios)
	const sources = Object.entries(policies).map(([name, layers]) => [name, policyToTypeScript(layers)])
	return {
		...search,
		...found,
		policies,
		typescript: Object.fromEntries(sources),
		before: estimates(before),
		...(after && { after: estimates(after) }),
		...(nearest && { nearest: { ...nearest, after: nearest.after && estimates(nearest.after) } }),
		...(bestSingle && { bestSingle: { ...bestSingle, after: estimates(bestSingle.after) } }),
		...(incident && { incident: incident.data }),
		...(isInterrupted && { interrupted: { steps: result.steps.length } }),
	}
}

/** Returns the estimates over all runs, or of each scenario if there are several. */
function estimatesOf({ runs, ...summary }: Replications, scenarios: number): object {
	if (scenarios === 1) return summary
	const byScenario = splitRuns(runs, scenarios).map((own) => {
		const { runs: _, ...estimates } = mergeRuns(own)
		return estimates
	})
	return { byScenario }
}
