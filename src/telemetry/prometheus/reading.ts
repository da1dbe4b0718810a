/** The values of one metric at one moment, in the shape that all formats of Prometheus share. */

import type { GaugeValues } from '../collect/gauge-values.ts'
import type { MetricsCollector } from '../collect/metrics-collector.ts'
import { METRICS, type MetricDefinition } from '../metrics/catalog.ts'
import type { MetricSet } from '../metrics/metric-set.ts'
import type { Histogram } from '../metrics/series.ts'

/** One value. A histogram has several per series. */
export interface Sample {
	/** The name of the metric, with the suffix of a histogram. */
	readonly name: string
	readonly labels: Readonly<Record<string, string | number>>
	readonly value: number
}

export interface MetricReading {
	readonly name: string
	readonly definition: MetricDefinition
	readonly samples: readonly Sample[]
}

/** Returns all metrics of the catalog, in its order. Never rejects. */
export async function readMetrics(collector: MetricsCollector): Promise<readonly MetricReading[]> {
	const gauges = await collector.readGauges()
	return Object.keys(METRICS).map((name) => toReading(name, collector.metrics, gauges))
}

/** Returns one metric of the catalog. Concurrent calls share one read of the gauges. Never rejects. */
export async function readMetric(name: string, collector: MetricsCollector): Promise<MetricReading> {
	return toReading(name, collector.metrics, await collector.readGauges())
}

function toReading(name: string, metrics: MetricSet, gauges: GaugeValues): MetricReading {
	const definition = METRICS[name] as MetricDefinition
	return { name, definition, samples: [...samplesOf(name, definition, metrics, gauges)] }
}

function* samplesOf(
	name: string,
	{ type, labels: names }: MetricDefinition,
	metrics: MetricSet,
	gauges: GaugeValues,
): Generator<Sample> {
	if (type === 'histogram') {
		for (const series of metrics.histogram(name).series())
			yield* histogramSamples(name, labelled(names, series.labels), series)
		return
	}
	const values = type === 'counter' ? metrics.counter(name).series() : gauges.series(name)
	for (const { labels, value } of values) yield { name, labels: labelled(names, labels), value }
}

function* histogramSamples(
	name: string,
	labels: Readonly<Record<string, string>>,
	{ bounds, counts, sum }: Histogram,
): Generator<Sample> {
	let count = 0
	for (const [index, inBucket] of counts.entries()) {
		count += inBucket
		yield { name: `${name}_bucket`, labels: { ...labels, le: bounds[index] ?? '+Inf' }, value: count }
	}
	yield { name: `${name}_sum`, labels, value: sum }
	yield { name: `${name}_count`, labels, value: count }
}

const labelled = (names: readonly string[], values: readonly string[]): Readonly<Record<string, string>> =>
	Object.fromEntries(names.map((name, index) => [name, values[index] ?? '']))
