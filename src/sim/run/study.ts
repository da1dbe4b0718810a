/**
 * A question with its variants: what a file asks the command line to run. Either scenarios side by side, or a grid of
 * them for a map. Both come down to a list of cases, so that whoever runs them needs to know no more than that.
 */
import { InvalidOptionError } from '../../core/errors/errors.ts'
import type { MeasureName } from '../measure/measures.ts'
import type { Scenario } from '../scenario/scenario.ts'

/** What all studies have. */
interface StudyBase {
	readonly title: string
	/** What is asked, and what to look for in the answer. */
	readonly description?: string | undefined
	/** Runs of each case. Default 10. */
	readonly replications?: number | undefined
	/** The columns of the table. */
	readonly measures?: readonly MeasureName[] | undefined
}

/**
 * Scenarios side by side, by name.
 *
 * @example
 * export default {
 *   title: 'Which jitter?',
 *   description: 'A thousand clients after an outage.',
 *   variants: { none: scenarioWith('none'), full: scenarioWith('full') },
 * } satisfies Study
 */
export interface VariantStudy extends StudyBase {
	readonly variants: Readonly<Record<string, Scenario>>
	/** Figures that others have published, by variant: shown beside ours, with the difference in standard errors. */
	readonly reference?: Readonly<Record<string, Reference>> | undefined
	/**
	 * What is drawn over time: requests with the capacity, useful against wasted work of the services, or good against bad
	 * answers to the clients. Default `'requests'`.
	 */
	readonly chart?: 'requests' | 'work' | 'responses' | undefined
	/** Draws curves instead: each variant is a point of one of them. */
	readonly curves?: Curves | undefined
}

/** Curves over a number in which variants differ, one plot for each figure. */
export interface Curves {
	readonly xLabel: string
	readonly measures: readonly MeasureName[]
	/** By variant: on which curve, and where. */
	readonly points: Readonly<Record<string, { readonly curve: string; readonly x: number }>>
}

/** Published figures of one variant. */
export type Reference = Partial<Readonly<Record<MeasureName, PublishedFigure>>>

/** A mean over so many runs, and the standard deviation between them. */
export interface PublishedFigure {
	readonly mean: number
	readonly sd: number
	readonly count: number
}

/** A map: a scenario for each pair of values, in one panel for each name. */
export interface GridStudy extends StudyBase {
	readonly x: Axis
	readonly y: Axis
	readonly panels: readonly string[]
	at(x: number, y: number, panel: string): Scenario
	/** What a cell shows: the share of runs that recovered, or the mean of a share. Default `'recovered'`. */
	readonly cell?: 'recovered' | 'goodShare' | 'wastedShare' | undefined
}

interface Axis {
	readonly label: string
	readonly values: readonly number[]
	/** How a value is written. Default: as it is. */
	readonly format?: ((value: number) => string) | undefined
}

export type Study = VariantStudy | GridStudy

/** One scenario of a study, and where it belongs. */
export interface StudyCase {
	readonly name: string
	readonly scenario: Scenario
	readonly x?: number
	readonly y?: number
}

export const isGrid = (study: Study): study is GridStudy => 'panels' in study

export function listCases(study: Study): readonly StudyCase[] {
	if (!isGrid(study))
		return Object.entries(study.variants).map(([name, scenario]) => ({
			name,
			scenario: { ...scenario, name },
		}))
	const { panels, x, y } = study
	return panels.flatMap((name) =>
		y.values.flatMap((down) =>
			x.values.map((across) => ({ name, x: across, y: down, scenario: study.at(across, down, name) })),
		),
	)
}

/** A scenario, or a study, as a file gives it: a single scenario becomes a study of one. */
export function toStudy(given: Scenario | Study, name: string): Study {
	if (Object(given) !== given)
		throw new InvalidOptionError(name, given, 'a scenario or a study, as an object')
	if ('variants' in given || 'panels' in given) return given
	return { title: given.name ?? name, variants: { [given.name ?? name]: given } }
}
