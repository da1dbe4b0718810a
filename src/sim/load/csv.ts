/** Reads a load curve from CSV: a column of times, and a column of rates or counts. */
import { invalidArgument, invalidOption } from '../../core/options/schema.ts'
import type { RatePoint } from '../scenario/arrivals-model.ts'
import { listed, oneOf, text } from '../scenario/shape.ts'
import {
	buildLoadCurve,
	isGap,
	type LoadCurve,
	type LoadCurveOptions,
	medianInterval,
	optionsCheck,
} from './load-curve.ts'

/** Options of `loadCurveFromCsv`: how a CSV file is read. */
export interface LoadCurveFromCsvOptions extends LoadCurveOptions {
	/** The header of the column with the times. Default: the first that is named like a time, or the first column. */
	readonly timeColumn?: string | undefined
	/** The header of the column with the rates or counts. Default: the first that is named like one, or the only other column. */
	readonly valueColumn?: string | undefined
	/**
	 * `'rate'`: calls per second. `'count'`: calls from this time to the next. Default: by the name of the
	 * column, `'count'` for names such as `count`, `requests` or `calls`, else `'rate'`.
	 */
	readonly values?: 'rate' | 'count' | undefined
	/** The unit of times that are numbers. Default: by the name of the column, else seconds; milliseconds from 1e11 on. */
	readonly timeUnit?: 'seconds' | 'milliseconds' | undefined
}

const checkOptions = optionsCheck({
	'timeColumn?': text,
	'valueColumn?': text,
	'values?': oneOf('rate', 'count'),
	'timeUnit?': oneOf('seconds', 'milliseconds'),
})

const TIME =
	/^(time|timestamp|date|datetime|ts|t|at|ms|seconds|milliseconds)(_|\b)|^(at|time)ms$|_(time|at)$/i
const MILLISECONDS = /(^|[^a-z])(ms|msec|millis|milliseconds)\b|^(at|time)ms$/i
const RATE = /rate|per_?\s?s(ec(ond)?)?\b|\/\s?s(ec)?\b|\b[rqt]ps\b/i
const COUNT = /count|requests|calls|hits|total/i
/** From here on, a time cannot be seconds: the year 5138. */
const FIRST_MILLISECONDS = 1e11

/**
 * Reads the load of a simulated client from CSV text; use `arrivals` of the result in a client of `simulate`,
 * and check its `summary`. Times are ISO 8601, seconds or milliseconds. An empty value or NaN is missing.
 *
 * @example
 * const { arrivals, summary } = loadCurveFromCsv('time,rps\n0,100\n60,250\n120,180\n')
 * summary.source // => 'time in seconds, rps as calls per second'
 */
export function loadCurveFromCsv(csv: string, options: LoadCurveFromCsvOptions = {}): LoadCurve {
	if (typeof csv !== 'string') invalidArgument('csv', csv, 'CSV text')
	checkOptions(options)
	const rows = readRows(csv)
	const [first] = rows
	if (!first) invalidArgument('csv', csv, 'at least two rows')
	const hasHeader = !first.cells.every(isValue)
	const header = hasHeader ? first.cells : first.cells.map((_, index) => `column ${index + 1}`)
	const body = hasHeader ? rows.slice(1) : rows
	const time = findTime(header, options.timeColumn)
	const value = findValue(header, time, options.valueColumn)
	const [timeName, valueName] = [header[time] ?? '', header[value] ?? '']
	const isCount =
		(options.values ?? (!RATE.test(valueName) && COUNT.test(valueName) ? 'count' : 'rate')) === 'count'
	const unit = options.timeUnit ?? (MILLISECONDS.test(timeName) ? 'milliseconds' : undefined)
	const read = body.map((row) => ({
		atMs: readTime(row, time, timeName, unit),
		perSecond: readValue(row, value, valueName),
		row,
	}))
	const sorted = read.toSorted((a, b) => a.atMs - b.atMs)
	for (const [index, { atMs, row }] of sorted.entries())
		if (atMs === sorted[index - 1]?.atMs)
			invalidArgument(`csv, line ${row.line}`, row.cells[time], `each time once in ${timeName}`)
	const values = sorted.filter(({ perSecond }) => !Number.isNaN(perSecond))
	const isDate = body.some(({ cells }) => !isNumber(cells[time] ?? ''))
	return buildLoadCurve(
		isCount ? toRates(values) : values,
		{ interpolation: isCount ? 'steps' : 'linear', ...options },
		{
			source:
				`${timeName} ${isDate ? 'as dates' : `in ${unit ?? guessUnit(read[0]?.row.cells[time])}`}, ` +
				`${valueName} as ${isCount ? 'calls from each time to the next' : 'calls per second'}`,
			missing: read.length - values.length,
		},
	)
}

/** Counts become the rate that keeps their number. The last one lasts one interval, as does one before a gap. */
function toRates(counts: readonly RatePoint[]): readonly RatePoint[] {
	const intervalMs = medianInterval(counts.map(({ atMs }) => atMs))
	return counts.map(({ atMs, perSecond }, index) => {
		const distance = (counts[index + 1]?.atMs ?? Infinity) - atMs
		return { atMs, perSecond: (1_000 * perSecond) / (isGap(distance, intervalMs) ? intervalMs : distance) }
	})
}

function findTime(header: readonly string[], wanted: string | undefined): number {
	if (wanted !== undefined) return findColumn(header, wanted, 'timeColumn')
	return Math.max(
		0,
		header.findIndex((name) => TIME.test(name)),
	)
}

function findValue(header: readonly string[], time: number, wanted: string | undefined): number {
	if (wanted !== undefined) return findColumn(header, wanted, 'valueColumn')
	const others = [...header.keys()].filter((index) => index !== time)
	const named = (pattern: RegExp) => others.find((index) => pattern.test(header[index] ?? ''))
	const found = named(RATE) ?? named(COUNT) ?? (others.length === 1 ? others[0] : undefined)
	return (
		found ??
		invalidOption('valueColumn', undefined, `one of ${listed(others.map((index) => header[index] ?? ''))}`)
	)
}

function findColumn(header: readonly string[], wanted: string, option: string): number {
	const index = header.indexOf(wanted)
	return index >= 0 ? index : invalidOption(option, wanted, listed(header))
}

const isNumber = (cell: string): boolean => cell !== '' && Number.isFinite(Number(cell))
const isMissing = (cell: string): boolean => cell === '' || /^(nan|null|undefined|-)$/i.test(cell)
const isValue = (cell: string): boolean => isNumber(cell) || isMissing(cell) || isIsoDate(cell)

/** Only ISO 8601: how an engine reads other formats is its own choice. Without a zone, a date with a time is read as UTC. */
const isIsoDate = (cell: string): boolean =>
	/^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.,]\d+)?)?\s?(Z|[+-]\d\d:?\d\d)?)?$/i.test(cell)

const guessUnit = (cell: string | undefined): 'seconds' | 'milliseconds' =>
	Number(cell) >= FIRST_MILLISECONDS ? 'milliseconds' : 'seconds'

function readTime(
	{ line, cells }: CsvRow,
	column: number,
	name: string,
	unit: LoadCurveFromCsvOptions['timeUnit'],
): number {
	const cell = cells[column] ?? ''
	const path = `csv, line ${line}, ${name}`
	if (isNumber(cell)) {
		const time = Number(cell)
		if (time < 0) invalidArgument(path, cell, 'a time of 0 or more')
		return (unit ?? guessUnit(cell)) === 'milliseconds' ? time : time * 1_000
	}
	const time = isIsoDate(cell) ? Date.parse(toUtc(cell)) : NaN
	return Number.isNaN(time) ? invalidArgument(path, cell, 'a number or a time in ISO 8601') : time
}

/** Dates with a time but without a zone would be in the zone of the machine. */
function toUtc(cell: string): string {
	const text = cell.replace(' ', 'T').replace(',', '.').replace(' ', '').toUpperCase()
	return !text.includes('T') || /(Z|[+-]\d\d:?\d\d)$/.test(text) ? text : `${text}Z`
}

/** Returns NaN for a missing value. */
function readValue({ line, cells }: CsvRow, column: number, name: string): number {
	const cell = cells[column] ?? ''
	if (isMissing(cell)) return NaN
	const value = isNumber(cell) ? Number(cell) : -1
	return value >= 0 ? value : invalidArgument(`csv, line ${line}, ${name}`, cell, 'a number of 0 or more')
}

/** The cells of a line, and its number in the text. */
export interface CsvRow {
	readonly line: number
	readonly cells: readonly string[]
}

const DELIMITERS = [',', ';', '\t'] as const

/** Returns the rows that are not empty. The delimiter is a comma, a semicolon or a tab, whichever is most frequent in the first line. */
export function readRows(text: string): readonly CsvRow[] {
	const content = text.replace(/^\uFEFF/, '')
	const delimiter = findDelimiter(content)
	const rows: CsvRow[] = []
	let cells: string[] = []
	let [line, firstLine, at] = [1, 1, 0]
	const endRow = () => {
		if (cells.some((cell) => cell !== '')) rows.push({ line: firstLine, cells })
		cells = []
		firstLine = line
	}
	while (at < content.length) {
		const isQuoted = content[at] === '"'
		const end = isQuoted ? endOfQuoted(content, at, line) : endOfPlain(content, at, delimiter)
		const raw = content.slice(at, end)
		cells.push(isQuoted ? raw.slice(1, -1).replaceAll('""', '"') : raw.trim())
		line += raw.split('\n').length - 1
		at = end
		if (content[at] === delimiter) {
			at++
			// A delimiter at the end of a row is followed by an empty cell.
			if (at === content.length || content[at] === '\n' || content[at] === '\r') cells.push('')
		}
		if (content[at] === '\r') at++
		if (content[at] === '\n' || at >= content.length) {
			at++
			line++
			endRow()
		}
	}
	return rows
}

function findDelimiter(text: string): string {
	const [first = ''] = text.split('\n', 1)
	const count = (delimiter: string) => first.split(delimiter).length
	return DELIMITERS.reduce<string>((best, one) => (count(one) > count(best) ? one : best), ',')
}

function endOfPlain(text: string, from: number, delimiter: string): number {
	let end = from
	while (end < text.length && text[end] !== delimiter && text[end] !== '\n' && text[end] !== '\r') end++
	return end
}

/** Returns the position after the closing quote. */
function endOfQuoted(text: string, from: number, line: number): number {
	let quote = text.indexOf('"', from + 1)
	while (quote !== -1 && text[quote + 1] === '"') quote = text.indexOf('"', quote + 2)
	if (quote === -1) invalidArgument(`csv, line ${line}`, text.slice(from, from + 20), 'a closing quote')
	return quote + 1
}
