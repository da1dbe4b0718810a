/** The result of a study as text, HTML and SVG. */
import { sanitizeLine } from '../../text/sanitize.ts'
import { PLAIN, type TextStyle } from '../../text/style.ts'
import { formatTable, type Table, type TableOptions } from '../../text/table.ts'
import { wrap } from '../../text/width.ts'
import { heatMap } from '../charts/heat-map.ts'
import { lineChart, stackedChart } from '../charts/time-chart.ts'
import { CHART_NAMES, type ChartName, isGrid, type Study, type VariantStudy } from '../run/study.ts'
import { amount, fields, ofType } from '../scenario/shape.ts'
import { CHART_FIELDS, type ChartOptions, withChartOptions } from './chart-subject.ts'
import { measuresTable } from './measures-table.ts'
import { type Block, renderPage } from './page.ts'
import { buildCurves, buildHeatMap } from './study-charts.ts'
import { casesWithRuns, countRuns, type StudyResult } from './study-result.ts'
import { heatTable, referenceTable, sparklineTable } from './tables.ts'
import { buildTimeChart } from './time-charts.ts'

/** Options of `toText`: the width, bold and dim text, and what the chart shows. Use them to print the result of `runStudy` in a terminal. */
export interface TextOptions extends ChartOptions {
	/** The width of the text. Default 80, at least 20. */
	readonly columns?: number | undefined
	/** Functions for bold and dim text. Default: plain text. */
	readonly style?: TextStyle | undefined
}

const STANDARD_ERRORS = 'SE: standard errors. Differences are ours minus the published ones.'

const checkChartOptions = fields(CHART_FIELDS)
const checkTextOptions = fields({
	...CHART_FIELDS,
	'columns?': amount(),
	'style?': ofType('object', 'an object'),
})

/**
 * Returns the chart of a study as an SVG file.
 *
 * @example
 * const svg = toSVG(result, { services: 'all' }) // a panel per service
 */
export function toSVG(result: StudyResult, options: ChartOptions = {}): string {
	checkChartOptions(options, '')
	return drawSVG({ ...result, study: withChartOptions(result.study, options) })
}

function drawSVG(result: StudyResult): string {
	const { study } = result
	if (isGrid(study)) return heatMap(buildHeatMap(result, study))
	if (study.curves) return lineChart(buildCurves(result, study, study.curves))
	return timeChartSVG(result, study, study.chart ?? 'requests')
}

const timeChartSVG = (result: StudyResult, study: VariantStudy, chart: ChartName): string =>
	(chart === 'requests' ? lineChart : stackedChart)(buildTimeChart(result, study, chart))

/**
 * Returns an HTML page with charts and tables of what `runStudy` returns. It is one file without external
 * resources.
 *
 * @example
 * import { writeFile } from 'node:fs/promises'
 *
 * await writeFile('study.html', toHTML(runStudy(study)))
 */
export function toHTML(given: StudyResult, options: ChartOptions = {}): string {
	checkChartOptions(options, '')
	const study = withChartOptions(given.study, options)
	const result = { ...given, study }
	const { notes: limits = [] } = result
	const blocks: Block[] = [...(study.description ? [study.description] : []), ...limits]
	const hasRuns = casesWithRuns(result).length > 0
	if (hasRuns) blocks.push({ svg: drawSVG(withoutNotes(result)) })
	if (!isGrid(study) && hasRuns) {
		const { reference, curves, chart = 'requests' } = study
		const { table, notes } = measuresTable(result)
		blocks.push({ table, caption: ['Means.', ...notes].join(' ') })
		if (reference) blocks.push({ table: referenceTable(result, reference), caption: STANDARD_ERRORS })
		const others = curves ? [] : CHART_NAMES.filter((name) => name !== chart)
		blocks.push(...others.map((name) => ({ svg: timeChartSVG(withoutNotes(result), study, name) })))
	}
	return renderPage(study.title, [...blocks, describeRuns(result)])
}

/** A page has the notes once, above its charts. */
const withoutNotes = (result: StudyResult): StudyResult => ({ ...result, notes: undefined })

function describeRuns(result: StudyResult): string {
	const made = countRuns(result)
	const ofPlanned = made < result.planned ? ` of ${result.planned} planned` : ''
	const firstSeed = casesWithRuns(result)[0]?.runs[0]?.seed ?? ''
	return `${made}${ofPlanned} runs, seeds from ${firstSeed}. The same seeds give the same results.`
}

/**
 * Returns a text for terminals of what `runStudy` returns: tables, and a sparkline of each variant.
 *
 * @example
 * console.log(toText(runStudy(study)))
 */
export function toText(given: StudyResult, options: TextOptions = {}): string {
	checkTextOptions(options, '')
	const { columns = 80, style = PLAIN, ...chart } = options
	const study = withChartOptions(given.study, chart)
	const result = { ...given, study }
	const width = Math.max(20, columns)
	const lines = (text: string): string => wrap(sanitizeLine(text), width, 'truncate').join('\n')
	const { note, tables } = textParts(result, study, { width, style })
	return [
		[style.bold(lines(study.title)), style.dim(lines(note))].filter((part) => part !== '').join('\n'),
		...tables,
		(result.notes ?? []).map(lines).join('\n'),
		lines(study.description ?? ''),
	]
		.filter((part) => part !== '')
		.join('\n\n')
}

function textParts(result: StudyResult, study: Study, options: Required<TableOptions>) {
	if (isGrid(study)) {
		const map = buildHeatMap(result, study)
		const note = `${map.valueLabel}, by ${map.xLabel} (columns) and ${map.yLabel} (rows); ${map.subtitle}`
		return { note, tables: map.panels.map((panel) => formatTable(heatTable(map, panel), options)) }
	}
	const { reference, curves, chart = 'requests' } = study
	const explained = (table: Table, notes: readonly string[]): string => {
		const lines = notes.flatMap((note) => wrap(note, options.width ?? 80, 'truncate'))
		return [formatTable(table, options), ...lines.map((line) => options.style?.dim(line) ?? line)].join('\n')
	}
	if (reference)
		return { note: '', tables: [explained(referenceTable(result, reference), [STANDARD_ERRORS])] }
	const { table, notes } = measuresTable(result)
	const measures = explained(table, notes)
	if (curves) return { note: '', tables: [measures] }
	const timeChart = buildTimeChart(result, study, chart)
	const width = options.width ?? 80
	return {
		note: timeChart.subtitle,
		tables: [formatTable(sparklineTable(timeChart, width), options), measures],
	}
}
