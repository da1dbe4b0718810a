import { describe, expect, it } from 'vitest'
import { InvalidArgumentError, InvalidOptionError } from 'yaoki'
import { type LoadCurveFromPrometheusOptions, loadCurveFromPrometheus } from 'yaoki/sim'

const START = 1_770_000_000

type Value = number | string | undefined

/** A series with a value per minute; undefined for none. */
const series = (metric: Record<string, string>, ...values: readonly Value[]) => ({
	metric,
	values: values.flatMap((value, index) =>
		value === undefined ? [] : [[START + 60 * index, String(value)]],
	),
})

const response = (...result: readonly unknown[]): string =>
	JSON.stringify({ status: 'success', data: { resultType: 'matrix', result } })

const points = (json: unknown, options?: LoadCurveFromPrometheusOptions) =>
	loadCurveFromPrometheus(json, options).arrivals.points.map(({ perSecond }) => perSecond)

function rejected(json: unknown, options?: unknown): string {
	try {
		loadCurveFromPrometheus(json, options as LoadCurveFromPrometheusOptions)
	} catch (error) {
		if (error instanceof InvalidOptionError || error instanceof InvalidArgumentError) return error.message
		throw error
	}
	return expect.unreachable('it was accepted')
}

/** As a server returned it. */
const SAMPLE = `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[
	[1770000000,"412.35"],[1770000060,"433.8166666666667"],[1770000120,"398.05"]]}]}}`

describe('a range query', () => {
	it('becomes a curve of its rates, from its first value on', () => {
		const { arrivals, summary } = loadCurveFromPrometheus(SAMPLE)
		expect(arrivals).toEqual({
			kind: 'curve',
			interpolation: 'linear',
			points: [
				{ atMs: 0, perSecond: 412.35 },
				{ atMs: 60_000, perSecond: 433.8166666666667 },
				{ atMs: 120_000, perSecond: 398.05 },
			],
		})
		expect(summary).toMatchObject({
			source: '1 series',
			startsAt: '2026-02-02T02:40:00.000Z',
			intervalMs: 60_000,
			lengthMs: 180_000,
			values: 3,
			missing: 0,
			gaps: [],
		})
		expect(loadCurveFromPrometheus(JSON.parse(SAMPLE)).arrivals).toEqual(arrivals)
	})

	it('is the sum of all its series, or of the series with these labels', () => {
		const json = response(
			series({ pod: 'a', path: '/x' }, 1, 2, 3),
			series({ pod: 'b', path: '/x' }, 10, 20, 30),
			series({ pod: 'b', path: '/y' }, 100, 200, 300),
		)
		expect(points(json)).toEqual([111, 222, 333])
		expect(points(json, { labels: { pod: 'b' } })).toEqual([110, 220, 330])
		expect(points(json, { labels: { pod: 'b', path: '/y' } })).toEqual([100, 200, 300])
		expect(loadCurveFromPrometheus(json).summary.source).toBe('the sum of 3 series')
	})

	it('can be scaled and repeated', () => {
		const { arrivals } = loadCurveFromPrometheus(SAMPLE, { scale: 2, repeat: true })
		expect(arrivals.points[0]?.perSecond).toBe(824.7)
		expect(arrivals.repeatEveryMs).toBe(180_000)
	})
})

describe('a value that is missing', () => {
	const json = response(
		series({ pod: 'a' }, 1, 1, 1, 1, 1),
		series({ pod: 'b' }, 10, undefined, 'NaN', 40, 50),
	)

	it('is interpolated and reported if one series lacks it', () => {
		expect(points(json)).toEqual([11, 21, 31, 41, 51])
		expect(loadCurveFromPrometheus(json).summary.missing).toBe(2)
	})

	it('is no load if the options say so', () => {
		expect(points(json, { gaps: 'zero' })).toEqual([11, 1, 1, 41, 51])
	})

	it('is no load before a series begins or after it ends: the instance did not run', () => {
		const started = response(
			series({ pod: 'a' }, 1, 1, 1, 1),
			series({ pod: 'b' }, undefined, 10, 20, undefined),
		)
		expect(points(started)).toEqual([1, 11, 21, 1])
		expect(loadCurveFromPrometheus(started).summary.missing).toBe(0)
	})

	it('is a gap if all series lack it', () => {
		const down = response(series({}, 5, 5, undefined, undefined, undefined, 5, 5, 5))
		expect(points(down)).toEqual([5, 5, 5, 5, 5])
		expect(loadCurveFromPrometheus(down).summary.gaps).toEqual([{ fromMs: 60_000, toMs: 300_000 }])
		expect(loadCurveFromPrometheus(down, { gaps: 'zero' }).arrivals.points.slice(2, 5)).toEqual([
			{ atMs: 120_000, perSecond: 5 },
			{ atMs: 120_000, perSecond: 0 },
			{ atMs: 300_000, perSecond: 0 },
		])
	})
})

describe('what is no range query of a rate is rejected', () => {
	it.each([
		['no json', '"json": expected the JSON of a range query'],
		['{"status":"error","errorType":"bad_data","error":"parse error"}', 'parse error'],
		['[]', '"json.status"'],
		['{"status":"success","data":{"resultType":"vector","result":[]}}', "'matrix'"],
		[response(), 'at least one series'],
		[response({ values: [] }), 'json.data.result[0].metric'],
		[response({ metric: {}, histograms: [] }), 'json.data.result[0].values'],
		[response({ metric: {}, values: [[1, 2]] }), 'json.data.result[0].values[0]'],
		[response(series({}, 1, '+Inf')), 'values[1]'],
		[response(series({}, 1, -1)), 'values[1]'],
		[response(series({}, 1)), 'at least two values'],
		[response(series({}, 0, 0)), 'at least one value above 0'],
	])('%s', (json, message) => {
		expect(rejected(json)).toContain(message)
	})

	it('rejects a counter, with the query to use instead', () => {
		const counter = response(series({ __name__: 'http_requests_total' }, 1_000, 2_000))
		expect(rejected(counter)).toContain('sum(rate(http_requests_total[5m]))')
	})

	it('labels that no series has, with those that exist', () => {
		const json = response(series({ pod: 'a' }, 1, 2))
		expect(rejected(json, { labels: { pod: 'c' } })).toContain('{"pod":"a"}')
		expect(rejected(json, { labels: 'a' })).toContain('"labels"')
		expect(rejected(json, { label: {} })).toContain('Did you mean "labels"?')
	})
})
