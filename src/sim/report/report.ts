/** An outcome in the forms that people and programs want. */
import type { SimulationResult } from '../measure/result.ts'
import { plainLine } from '../picture/escape.ts'
import { heatMap } from '../picture/heat-map.ts'
import { lineChart } from '../picture/line-chart.ts'
import { type Block, page } from '../picture/page.ts'
import { stackedChart } from '../picture/stacked-chart.ts'
import { displayWidth } from '../picture/text/display-width.ts'
import { heatMapText } from '../picture/text/heat-map-text.ts'
import { lineChartText } from '../picture/text/line-chart-text.ts'
import { stackedText } from '../picture/text/stacked-text.ts'
import { tableText } from '../picture/text/table-text.ts'
import { wrapped } from '../picture/text-width.ts'
import { isGrid, type VariantStudy } from '../run/study.ts'
import { map, overNumber, overTime } from './charts.ts'
import { comparedOf, runsOf, type StudyResult } from './outcome.ts'
import { measuresTable, referenceTable } from './tables.ts'

export interface TextOptions {
	/** Columns of the terminal. */
	readonly columns: number
	readonly colour: boolean
}

/** The picture of a study. */
export function svgOf(outcome: StudyResult): string {
	const { study } = outcome
	if (isGrid(study)) return heatMap(map(outcome, study))
	if (study.curves) return lineChart(overNumber(outcome, study, study.curves))
	return timeSvg(outcome, study, study.chart ?? 'requests')
}

type Picture = NonNullable<VariantStudy['chart']>

const timeSvg = (outcome: StudyResult, study: VariantStudy, picture: Picture): string =>
	(picture === 'requests' ? lineChart : stackedChart)(overTime(outcome, study, picture))

/** A page that needs nothing else: pictures, tables and what they mean. */
export function htmlOf(outcome: StudyResult): string {
	const { study } = outcome
	const content: Block[] = [study.description ?? '', { svg: svgOf(outcome) }].filter((block) => block !== '')
	if (!isGrid(study)) {
		const { reference, curves, chart = 'requests' } = study
		content.push({
			table: measuresTable(outcome),
			caption: 'Means, with half the width of their 95 % confidence intervals.',
		})
		if (reference)
			content.push({ table: referenceTable(outcome, reference), caption: 'SE: standard errors.' })
		const others = (['requests', 'work', 'responses'] as const).filter((one) => one !== chart)
		if (!curves) content.push(...others.map((one) => ({ svg: timeSvg(outcome, study, one) })))
	}
	return page({ title: study.title, sections: [{ content: [...content, howItWasRun(outcome)] }] })
}

/** For a terminal: tables and charts of characters. */
export function textOf(outcome: StudyResult, { columns, colour }: TextOptions): string {
	const { study } = outcome
	const options = { width: Math.max(20, columns), colour }
	const parts = isGrid(study)
		? [heatMapText(map(outcome, study), options)]
		: variantsText(outcome, study, options)
	const about = wrapped(plainLine(study.description ?? ''), options.width, displayWidth).join('\n')
	return [...parts, about].filter((part) => part !== '').join('\n\n')
}

function variantsText(
	outcome: StudyResult,
	study: VariantStudy,
	options: { width: number; colour: boolean },
): readonly string[] {
	const { reference, curves, chart = 'requests' } = study
	if (reference) return [study.title, tableText(referenceTable(outcome, reference), options)]
	const table = tableText(measuresTable(outcome), options)
	if (curves) return [lineChartText(overNumber(outcome, study, curves), options), table]
	const overall = overTime(outcome, study, chart)
	return [(chart === 'requests' ? lineChartText : stackedText)(overall, options), table]
}

/** Plain data, for `--json` and files that end in .json. Runs are told without their timelines; those are in a single run's own result. */
export function dataOf(outcome: StudyResult): object {
	const { study, planned, cases } = outcome
	return {
		title: study.title,
		description: study.description,
		runs: { made: runsOf(outcome), planned },
		cases: comparedOf(outcome).map(({ name, measures, neverRecoveredShare, difference }, index) => ({
			name,
			...placeOf(outcome, index),
			measures,
			neverRecoveredShare,
			difference,
			runs: cases.filter(({ runs }) => runs.length > 0)[index]?.runs.map(withoutTimeline) ?? [],
		})),
	}
}

function placeOf({ cases }: StudyResult, index: number): { x?: number; y?: number } {
	const { x, y } = cases.filter(({ runs }) => runs.length > 0)[index]?.case ?? {}
	return { ...(x === undefined ? {} : { x }), ...(y === undefined ? {} : { y }) }
}

const withoutTimeline = ({ timeline: _, ...rest }: SimulationResult): object => rest

function howItWasRun(outcome: StudyResult): string {
	const made = runsOf(outcome)
	const seeds = outcome.cases.flatMap(({ runs }) => runs.map(({ seed }) => seed))
	const first = seeds[0] ?? ''
	const isCut = made < outcome.planned ? ` of ${outcome.planned} that were asked for` : ''
	return `${made} runs${isCut}, seeds from ${first}. The same seeds give the same figures.`
}
