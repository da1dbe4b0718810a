/**
 * Reads a load curve from the JSON of a Prometheus range query (`/api/v1/query_range`). Series are summed: a
 * query without an aggregation returns one per instance. A series that begins or ends within the range is an
 * instance that was started or stopped, and counts as 0 outside; a value that is missing between others is a
 * scrape that failed, and does not.
 */
import { invalidArgument, invalidOption, isAmount } from '../../core/options/schema.ts'
import type { RatePoint } from '../scenario/arrivals-model.ts'
import { named, type Shape, text } from '../scenario/shape.ts'
import { buildLoadCurve, type LoadCurve, type LoadCurveOptions, optionsCheck } from './load-curve.ts'

/** Options of `loadCurveFromPrometheus`: how the JSON of a range query is read. */
export interface LoadCurveFromPrometheusOptions extends LoadCurveOptions {
	/** Sums only the series with these labels. Default: all. */
	readonly labels?: Readonly<Record<string, string>> | undefined
}

const checkOptions = optionsCheck({ 'labels?': named(text) })

interface Series {
	readonly metric: Readonly<Record<string, string>>
	readonly values: readonly (readonly [seconds: number, value: string])[]
}

const sample: Shape = (value, path) => {
	if (!Array.isArray(value) || typeof value[0] !== 'number' || typeof value[1] !== 'string')
		invalidArgument(path, value, 'a pair of a time in seconds and a value as a string')
}

/**
 * Reads the load of a simulated client from the JSON, text or parsed, of a Prometheus range query; use
 * `arrivals` of the result in a client of `simulate`. The query must return calls per second, such as
 * `sum(rate(http_requests_total[5m]))`, and not a counter.
 *
 * @example
 * const response = await fetch(url) // http://prometheus:9090/api/v1/query_range?query=...&start=...&end=...&step=60
 * const { arrivals } = loadCurveFromPrometheus(await response.text(), { repeat: true })
 */
export function loadCurveFromPrometheus(
	json: unknown,
	options: LoadCurveFromPrometheusOptions = {},
): LoadCurve {
	checkOptions(options)
	const { labels = {}, gaps } = options
	const all = readSeries(typeof json === 'string' ? parse(json) : json)
	const series = all.filter(({ metric }) =>
		Object.entries(labels).every(([name, value]) => metric[name] === value),
	)
	if (series.length === 0) {
		const known = all.map(({ metric }) => JSON.stringify(metric)).join(', ')
		invalidOption('labels', labels, `labels of at least one series: ${known}`)
	}
	for (const { metric } of series) checkIsRate(metric)
	const parts = series.map(readValues)
	const times = timesOf(parts.flat())
	const sums = new Map(times.map((at) => [at, 0]))
	for (const values of parts)
		for (const { atMs, perSecond } of gaps === 'zero' ? values : fill(values, times))
			sums.set(atMs, (sums.get(atMs) ?? 0) + perSecond)
	return buildLoadCurve(
		times.map((atMs) => ({ atMs, perSecond: sums.get(atMs) ?? 0 })),
		options,
		{
			source: series.length === 1 ? '1 series' : `the sum of ${series.length} series`,
			missing: countMissing(series, parts),
		},
	)
}

const timesOf = (values: readonly { readonly atMs: number }[]): readonly number[] =>
	[...new Set(values.map(({ atMs }) => atMs))].sort((a, b) => a - b)

/** Counts NaN, and the times of other series that a series lacks between its first and its last value. */
function countMissing(series: readonly Series[], parts: readonly (readonly RatePoint[])[]): number {
	const written = series.map(({ values }) => values.map(([seconds]) => ({ atMs: seconds * 1_000 })))
	const times = timesOf(written.flat())
	return written.reduce(
		(sum, own, index) => sum + times.filter((at) => isInside(own, at)).length - (parts[index]?.length ?? 0),
		0,
	)
}

function parse(json: string): unknown {
	try {
		return JSON.parse(json)
	} catch {
		return invalidArgument('json', json.slice(0, 40), 'the JSON of a range query')
	}
}

function readSeries(response: unknown): readonly Series[] {
	const { status, error, data } = Object(response)
	if (status !== 'success')
		invalidArgument('json.status', typeof error === 'string' ? error : status, "'success', of a range query")
	const { resultType, result } = Object(data)
	if (resultType !== 'matrix') invalidArgument('json.data.resultType', resultType, "'matrix'")
	if (!Array.isArray(result) || result.length === 0)
		invalidArgument('json.data.result', result, 'at least one series')
	for (const [index, { metric, values }] of (result as unknown[]).map(Object).entries()) {
		const path = `json.data.result[${index}]`
		if (Object(metric) !== metric) invalidArgument(`${path}.metric`, metric, 'an object with labels')
		if (!Array.isArray(values)) invalidArgument(`${path}.values`, values, 'a list (histograms have no rate)')
		for (const [position, value] of values.entries()) sample(value, `${path}.values[${position}]`)
	}
	return result as readonly Series[]
}

/** The result of `rate` has no name any more, so a series with the name of a counter is the counter itself. */
function checkIsRate({ __name__: name = '' }: Series['metric']): void {
	if (/_(total|count|sum|bucket)$/.test(name))
		invalidArgument('json', name, `calls per second: query sum(rate(${name}[5m])), not the counter`)
}

/** Returns the values that are numbers. Prometheus writes NaN for 0 / 0. */
function readValues({ values }: Series): readonly RatePoint[] {
	const points = values.map(([seconds, value]) => ({ atMs: seconds * 1_000, perSecond: Number(value) }))
	for (const [index, { perSecond }] of points.entries())
		if (values[index]?.[1] !== 'NaN' && !isAmount(perSecond))
			invalidArgument(`values[${index}]`, values[index]?.[1], 'a finite number of 0 or more, or NaN')
	return points.filter(({ perSecond }) => !Number.isNaN(perSecond))
}

const isInside = (values: readonly { readonly atMs: number }[], at: number): boolean =>
	at >= (values[0]?.atMs ?? Infinity) && at <= (values.at(-1)?.atMs ?? -Infinity)

/** Adds values at the times that a series lacks, between those that it has. */
function fill(values: readonly RatePoint[], times: readonly number[]): readonly RatePoint[] {
	const filled: RatePoint[] = []
	let index = 0
	for (const at of times) {
		while (index + 1 < values.length && (values[index + 1]?.atMs ?? 0) <= at) index++
		const [before, after] = [values[index], values[index + 1]]
		if (!before || !isInside(values, at)) continue
		const share = after ? (at - before.atMs) / (after.atMs - before.atMs) : 0
		const change = after ? after.perSecond - before.perSecond : 0
		filled.push({ atMs: at, perSecond: before.perSecond + share * change })
	}
	return filled
}
