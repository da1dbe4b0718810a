/**
 * Whose requests, work or responses a chart over time shows. A chart without a name leaves the reader to
 * guess which of several services overloads, so every chart has a subject: in its description always, in its
 * subtitle as soon as there is a choice. By default a chart of requests shows one service for all variants,
 * the one that received most: were it chosen per run, two panels could show different services.
 */
import { checkName, invalidOption } from '../../core/options/schema.ts'
import { joinList } from '../../text/format.ts'
import type { SimulationResult } from '../measure/result.ts'
import {
	CHART_NAMES,
	type ChartName,
	isGrid,
	listCases,
	type Study,
	type VariantStudy,
} from '../run/study.ts'
import { list, oneOf, type Shape, text } from '../scenario/shape.ts'
import { casesWithRuns, type StudyCaseResult, type StudyResult } from './study-result.ts'

/** Options of `toHTML`, `toSVG` and `toText`, for charts over time. They replace the fields of the same name of the study. */
export interface ChartOptions {
	/** What is drawn over time. Default: the `chart` of the study. */
	readonly chart?: ChartName | undefined
	/** The services of a chart of requests or work, in one panel each; `'all'` for every service. Default: the `services` of the study. */
	readonly services?: VariantStudy['services']
}

const serviceSelection: Shape = (value, path) => {
	if (value === 'all') return
	if (!Array.isArray(value)) invalidOption(path, value, "'all' or a list of service names")
	list(text, 1)(value, path)
}

/** The fields of a study that select its chart over time. */
export const CHART_FIELDS: Readonly<Record<string, Shape>> = {
	'chart?': oneOf(...CHART_NAMES),
	'services?': serviceSelection,
}

/** Returns the study with the chart that the options ask for. Options that it cannot follow are rejected. */
export function withChartOptions<S extends Study>(study: S, { chart, services }: ChartOptions): S {
	const given = { ...(chart !== undefined && { chart }), ...(services !== undefined && { services }) }
	const [first] = Object.entries(given)
	if (first && (isGrid(study) || study.curves)) {
		const drawn = isGrid(study) ? 'a heat map' : 'curves'
		invalidOption(...first, `no value: the chart of this study is ${drawn}, not drawn over time`)
	}
	const changed = first ? { ...study, ...given } : study
	if (!isGrid(changed)) checkServices(changed)
	return changed
}

function checkServices(study: VariantStudy): void {
	const { services, chart } = study
	if (services === undefined) return
	if (chart === 'responses')
		invalidOption('chart', chart, "'requests' or 'work' to select services: responses are those of clients")
	const names = serviceNames(study)
	for (const name of services === 'all' ? [] : services) checkName('services', name, names)
}

export const serviceNames = (study: Study): readonly string[] => [
	...new Set(listCases(study).flatMap(({ scenario }) => Object.keys(scenario.services))),
]

/** What a chart shows: names of services or, for responses, of clients. */
export interface ChartSubject {
	readonly of: 'services' | 'clients'
	/** One panel per group and variant. The values of the names in a group are added up. */
	readonly groups: readonly (readonly string[])[]
	readonly text: string
	/** Whether there is more than one to choose from, so that the chart must say what it shows. */
	readonly isChoice: boolean
}

export function chartSubject(result: StudyResult, study: VariantStudy, chart: ChartName): ChartSubject {
	const cases = casesWithRuns(result)
	if (chart === 'responses') {
		const names = distinct(cases.flatMap(({ case: { scenario } }) => Object.keys(scenario.clients)))
		const description = `responses to ${together(names)}`
		return { of: 'clients', groups: [names], text: description, isChoice: names.length > 1 }
	}
	const names = serviceNames(study)
	const isChoice = names.length > 1
	const preposition = chart === 'requests' ? 'requests to' : 'work of'
	const { services } = study
	if (services !== undefined) {
		const selected = services === 'all' ? names : distinct(services)
		const description = selected.length === 1 ? `${preposition} ${selected[0]}` : `${chart} by service`
		return { of: 'services', groups: selected.map((name) => [name]), text: description, isChoice }
	}
	if (chart === 'work')
		return { of: 'services', groups: [names], text: `work of ${together(names)}`, isChoice }
	const busiest = busiestService(cases)
	const suffix = isChoice ? `, the busiest of ${names.length} services` : ''
	return { of: 'services', groups: [[busiest]], text: `requests to ${busiest}${suffix}`, isChoice }
}

/** Returns the service with the most requests over all runs; of several, the first. */
export function busiestService(cases: readonly Pick<StudyCaseResult, 'runs'>[]): string {
	const totals = new Map<string, number>()
	const count = ({ services }: SimulationResult): void => {
		for (const [name, { requests }] of Object.entries(services))
			totals.set(name, (totals.get(name) ?? 0) + requests)
	}
	for (const { runs } of cases) runs.forEach(count)
	return [...totals].reduce((most, one) => (one[1] > most[1] ? one : most), ['', -1] as [string, number])[0]
}

const together = (names: readonly string[]): string =>
	names.length > 1 ? `${joinList(names, 'and', 4)} together` : (names[0] ?? '')

const distinct = (names: readonly string[]): readonly string[] => [...new Set(names)]
