import { describe, expect, test } from 'vitest'
import { METRICS } from '../../../src/telemetry/metrics/catalog.ts'
import { MetricSet } from '../../../src/telemetry/metrics/metric-set.ts'
import { toLabelValue } from '../../../src/telemetry/metrics/series.ts'
import { SeriesCache } from '../../../src/telemetry/metrics/series-cache.ts'

const valuesOf = (metrics: MetricSet, name: string) =>
	[...metrics.counter(name).series()].map(({ labels, value }) => [...labels, value])

describe('label values', () => {
	test('label values have at most 200 characters', () => {
		expect(toLabelValue('x'.repeat(10_000))).toBe('x'.repeat(200))
	})

	test('label values have no control characters, line separators and unpaired surrogates', () => {
		expect(toLabelValue('a\nb\rc\u0000d\u009Fe\u2028f\uD800g')).toBe(
			'a\uFFFDb\uFFFDc\uFFFDd\uFFFDe\uFFFDf\uFFFDg',
		)
		expect(toLabelValue(`${'x'.repeat(199)}\u{1F600}`)).toBe(`${'x'.repeat(199)}\uFFFD`)
	})

	test('keep quotes, backslashes and other languages', () => {
		expect(toLabelValue('"\\ 決済 \u{1F600}')).toBe('"\\ 決済 \u{1F600}')
	})
})

describe('counters', () => {
	test('return the same series for the same labels', () => {
		const timeouts = new MetricSet(10).counter('yaoki_timeouts_total')
		expect(timeouts.get('a')).toBe(timeouts.get('a'))
		expect(timeouts.get('a')).not.toBe(timeouts.get('b'))
	})

	test('counters do not confuse label values whose concatenation is equal', () => {
		const calls = new MetricSet(10).counter('yaoki_calls_total')
		expect(calls.get('a\nb', 'c')).not.toBe(calls.get('a', 'b\nc'))
	})

	test('add what exceeds maxSeries to a series of other services with the same outcome, and count that', () => {
		const metrics = new MetricSet(2)
		for (const service of ['a', 'b', 'c', 'd', 'a'])
			metrics.counter('yaoki_calls_total').get(service, 'success').add(3)
		expect(valuesOf(metrics, 'yaoki_calls_total')).toEqual([
			['a', 'success', 6],
			['b', 'success', 3],
			['other', 'success', 6],
		])
		expect(valuesOf(metrics, 'yaoki_telemetry_overflows_total')).toEqual([['yaoki_calls_total', 2]])
	})

	test('keep one series if a service is named other', () => {
		const metrics = new MetricSet(1)
		const timeouts = metrics.counter('yaoki_timeouts_total')
		timeouts.get('other').add(1)
		timeouts.get('b').add(1)
		timeouts.get('other').add(1)
		expect(valuesOf(metrics, 'yaoki_timeouts_total')).toEqual([['other', 3]])
		expect(valuesOf(metrics, 'yaoki_telemetry_overflows_total')).toEqual([['yaoki_timeouts_total', 1]])
	})

	test('keep their series after a reset', () => {
		const metrics = new MetricSet(2)
		const series = metrics.counter('yaoki_timeouts_total').get('a')
		series.add(5)
		metrics.reset('yaoki_timeouts_total')
		series.add(1)
		expect(valuesOf(metrics, 'yaoki_timeouts_total')).toEqual([['a', 1]])
	})

	test('throw for a name that is not in the catalog, or has another type', () => {
		expect(() => new MetricSet(1).counter('yaoki_nothing_total')).toThrow('yaoki_nothing_total')
		expect(() => new MetricSet(1).counter('yaoki_call_duration_seconds')).toThrow('of this type')
	})
})

describe('histograms', () => {
	const bounds = METRICS['http_client_retry_duration_seconds']?.buckets ?? []

	test('count a value at a bound in its bucket', () => {
		const series = new MetricSet(1).histogram('http_client_retry_duration_seconds').get('a', 'success')
		for (const bound of bounds) series.record(bound)
		series.record(31)
		expect([...series.counts]).toEqual([1, 1, 1, 1, 1, 1, 1, 1])
		expect(series.sum).toBeCloseTo(bounds.reduce((sum, bound) => sum + bound, 31))
	})

	test.each([Number.NaN, -1, 0])('count %d as 0', (value) => {
		const series = new MetricSet(1).histogram('yaoki_call_duration_seconds').get('a')
		series.record(value)
		expect([series.counts[0], series.sum]).toEqual([1, 0])
	})

	test('add what exceeds maxSeries to one series', () => {
		const metrics = new MetricSet(1)
		const durations = metrics.histogram('yaoki_call_duration_seconds')
		for (const service of ['a', 'b', 'c']) durations.get(service).record(1)
		expect([...durations.series()].map(({ labels, sum }) => [...labels, sum])).toEqual([
			['a', 1],
			['other', 2],
		])
		metrics.reset('yaoki_call_duration_seconds')
		expect([...durations.series()].map(({ sum }) => sum)).toEqual([0, 0])
	})
})

test('a cache of series has at most the given number of keys and one for all others', () => {
	const cache = new SeriesCache(2, () => 'other')
	const created: string[] = []
	const get = (key: string) =>
		cache.get(key, (name) => {
			created.push(name)
			return `series of ${name}`
		})
	expect(['a', 'b', 'c', 'a', 'd', 'd'].map(get)).toEqual([
		'series of a',
		'series of b',
		'other',
		'series of a',
		'other',
		'other',
	])
	expect(created).toEqual(['a', 'b'])
})
