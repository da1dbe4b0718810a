/**
 * A study: scenarios that are run and shown together, as a file for the command line exports it. Either named
 * variants or a grid for a heat map. Both reduce to a list of cases, which is all that a runner needs.
 */
import { invalidArgument } from '../../core/options/schema.ts'
import type { MeasureName } from '../measure/measures.ts'
import type { Scenario } from '../scenario/scenario.ts'

/** Fields of all studies. */
interface StudyBase {
	readonly title: string
	/** The question, and what to look for in the result. */
	readonly description?: string | undefined
	/** Runs per case. Default 10. */
	readonly replications?: number | undefined
	/** Columns of the table. */
	readonly measures?: readonly MeasureName[] | undefined
}

/**
 * A `Study` of scenarios side by side, by name.
 *
 * @example
 * export default {
 *   title: 'Jitter strategies',
 *   description: 'A thousand clients after an outage.',
 *   variants: { none: scenarioWith('none'), full: scenarioWith('full') },
 * } satisfies Study
 */
export interface VariantStudy extends StudyBase {
	readonly variants: Readonly<Record<string, Scenario>>
	/** Published values by variant, shown next to the results with the difference in standard errors. */
	readonly reference?: Readonly<Record<string, Reference>> | undefined
	/**
	 * The chart over time: requests and capacity, useful and wasted work of the services, or good and bad
	 * responses to the clients. Default `'requests'`.
	 */
	readonly chart?: 'requests' | 'work' | 'responses' | undefined
	/**
	 * The services that a chart of requests or work shows, in one panel each; `'all'` for every service.
	 * Default: for requests the service that received most, for work the sum of all services. The clients of
	 * `'responses'` are always added up.
	 */
	readonly services?: 'all' | readonly string[] | undefined
	/** Draws curves instead; each variant is a point of a curve. */
	readonly curves?: Curves | undefined
}

/** Curves over a number in which variants differ, one plot per measure. */
export interface Curves {
	readonly xLabel: string
	readonly measures: readonly MeasureName[]
	/** By variant: the name of its curve and its x value. */
	readonly points: Readonly<Record<string, { readonly curve: string; readonly x: number }>>
}

/** Published values of one variant. */
export type Reference = Partial<Readonly<Record<MeasureName, PublishedFigure>>>

/** A mean over `count` runs, and the standard deviation between runs. */
export interface PublishedFigure {
	readonly mean: number
	readonly sd: number
	readonly count: number
}

/** A `Study` as a heat map: one scenario for each pair of values, in one panel per name. */
export interface GridStudy extends StudyBase {
	readonly x: Axis
	readonly y: Axis
	readonly panels: readonly string[]
	at(x: number, y: number, panel: string): Scenario
	/** The value of a cell: the share of runs that recovered, or the mean of a share. Default `'recovered'`. */
	readonly cell?: 'recovered' | 'goodShare' | 'wastedShare' | undefined
}

interface Axis {
	readonly label: string
	readonly values: readonly number[]
	/** Formats a value. Default: `String`. */
	readonly format?: ((value: number) => string) | undefined
}

/** Scenarios to compare, side by side or in a grid. Pass it to `runStudy`, or export it by default from a file for `yaoki simulate`. */
export type Study = VariantStudy | GridStudy

/** One scenario of a study, with its name or its position in the grid. */
export interface StudyCase {
	readonly name: string
	readonly scenario: Scenario
	readonly x?: number
	readonly y?: number
}

export type ChartName = NonNullable<VariantStudy['chart']>

export const CHART_NAMES: readonly ChartName[] = ['requests', 'work', 'responses']

export const isGrid = (study: Study): study is GridStudy => 'panels' in study

/**
 * Returns a scenario whose runs are compared with others, or averaged. With `until: 'recovered'` each would
 * end when it recovers, and shares and totals would be over different times: the policy that recovers first
 * would look worst, because the fault is a larger part of its run. So they last for their `durationMs`.
 * Ending all runs of a seed with the slowest was rejected: adding a variant would change the results of the
 * others, and every run would have to wait for the others.
 */
export function overEqualTime(scenario: Scenario): Scenario {
	if (scenario?.until !== 'recovered' || scenario.durationMs === undefined) return scenario
	return { ...scenario, until: undefined }
}

/** Returns the scenarios of a study, which cover the same time. */
export function listCases(study: Study): readonly StudyCase[] {
	if (!isGrid(study))
		return Object.entries(study.variants).map(([name, scenario]) => ({
			name,
			scenario: { ...overEqualTime(scenario), name },
		}))
	const { panels, x, y } = study
	return panels.flatMap((name) =>
		y.values.flatMap((down) =>
			x.values.map((across) => {
				const scenario = overEqualTime(study.at(across, down, name))
				return { name, x: across, y: down, scenario }
			}),
		),
	)
}

/** Returns a study as it is, and wraps a single scenario in a study of one case. */
export function toStudy(given: Scenario | Study, name: string): Study {
	if (Object(given) !== given) invalidArgument(name, given, 'a scenario or a study')
	if ('variants' in given || 'panels' in given) return given
	return { title: given.name ?? name, variants: { [given.name ?? name]: given } }
}
