/** The result of `--tune` as text: what to change, before and after, and the TypeScript to paste. */
import type { MeasureName } from '../../../sim/measure/measures.ts'
import type { Replications } from '../../../sim/measure/replications.ts'
import { measuresTable } from '../../../sim/report/measures-table.ts'
import { formatActual } from '../../../sim/run/expect.ts'
import type { PolicyLayer } from '../../../sim/scenario/layers.ts'
import { literal } from '../../../sim/scenario/literal.ts'
import type { Scenario } from '../../../sim/scenario/scenario.ts'
import { policyToTypeScript } from '../../../sim/scenario/source.ts'
import type { TuneChange } from '../../../sim/tune/changes.ts'
import { type Constraints, relativeGap } from '../../../sim/tune/constraints.ts'
import type { NearestMiss, TuneResult } from '../../../sim/tune/tune-result.ts'
import { sanitizeLine, sanitizeText } from '../../../text/sanitize.ts'
import type { Style } from '../../../text/style.ts'
import { formatTable } from '../../../text/table.ts'
import { constraintTexts, limitTexts } from './constraints.ts'
import { sensitivityText } from './sensitivity-text.ts'

/** A search with its result. */
export interface TuneOutput {
	readonly title: string
	readonly scenario: Scenario
	/** The incident that was read, as data and as text. */
	readonly incident: { readonly data: object; readonly text: string } | undefined
	readonly constraints: Constraints
	readonly objective: MeasureName
	readonly replications: number
	/** `--max-steps`, if given. */
	readonly maxSteps: number | undefined
	readonly result: TuneResult
	/** True if Ctrl-C ended the search. */
	readonly isInterrupted: boolean
}

interface TextOptions {
	readonly columns: number
	readonly style: Style
}

export function toText(output: TuneOutput, { columns, style }: TextOptions): string {
	const { title, incident, constraints, replications, result, isInterrupted } = output
	const { changes, policies, before, after, nearest, sensitivity, steps } = result
	const shown = after ? { name: 'after', changes, policies, runs: after } : nearestShown(nearest)
	const runs = replications === 1 ? 'the run' : `each of ${replications} runs`
	const rows = [
		['before', before] as const,
		...(shown?.runs && shown.changes.length > 0 ? [[shown.name, shown.runs] as const] : []),
	]
	const table = { width: columns, style }
	const measures = measuresTable(asStudy(output, rows))
	return [
		...(incident ? [incident.text] : []),
		style.bold(sanitizeLine(title)),
		`Constraints for ${runs}: ${constraintTexts(constraints).join(', ')}`,
		verdict(output),
		...(nearest ? [`${style.bold('Nearest miss')}: ${missText(nearest)}`] : []),
		...(shown && shown.changes.length > 0
			? [shown.changes.map((change) => sanitizeText(changeText(change))).join('\n')]
			: []),
		...(before.runs.length > 0 ? [[formatTable(measures.table, table), ...measures.notes].join('\n')] : []),
		...sources(shown?.changes ?? [], shown?.policies ?? {}, style),
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

function verdict({ result: { survives, changes }, isInterrupted }: TuneOutput): string {
	if (!survives)
		return isInterrupted
			? 'No policy so far satisfies all constraints.'
			: 'No policy satisfies all constraints.'
	if (changes.length === 0) return 'The policies satisfy all constraints without a change.'
	return `The smallest change that satisfies all constraints${isInterrupted ? ' so far' : ''}:`
}

const nearestShown = (nearest: NearestMiss | undefined) =>
	nearest && { ...nearest, name: 'nearest', runs: nearest.after }

/** Formats a change as a sentence. */
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
function missText({ violation, after, changes }: NearestMiss): string {
	const { measure, actual, limit, seed, distance } = violation
	const run = after?.runs.find((one) => one.seed === seed)
	const value = run ? formatActual(measure, actual, run) : (actual ?? 'none')
	// Of several limits, the one that the distance is measured to. In percent of 0 there is no excess.
	const bound = Object.values(limit).find((one) => one > 0 && relativeGap(actual, one) === distance)
	const excess = actual === null || bound === undefined ? 0 : Math.round((100 * (actual - bound)) / bound)
	const much = excess === 0 ? '' : `, ${Math.abs(excess)} % ${excess > 0 ? 'above' : 'below'} the limit`
	const change = changes.length === 0 ? ' No change comes closer than the policies as they are.' : ''
	return `${measure} is ${value} instead of ${limitTexts(limit).join(' and ')}${much} (seed ${seed}).${change}`
}

/** The changed policies as TypeScript. */
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

/** Before and after as a study, so that its table looks like that of every other study. */
function asStudy(
	{ title, scenario, constraints, objective }: TuneOutput,
	rows: readonly (readonly [name: string, runs: Replications])[],
) {
	const constrained = Object.keys(constraints) as MeasureName[]
	const measures = [...new Set<MeasureName>([...constrained, objective, 'goodShare', 'amplification'])]
	return {
		study: { title, measures, variants: Object.fromEntries(rows.map(([name]) => [name, scenario])) },
		cases: rows.map(([name, { runs }]) => ({ case: { name, scenario }, runs })),
		planned: rows.reduce((sum, [, { runs }]) => sum + runs.length, 0),
	}
}
