/**
 * What the exporters of the OpenTelemetry Collector for Prometheus make of metrics, by the rules of github.com/prometheus/otlptranslator with
 * suffixes and escaped names, their default. Only the units of this package.
 */
import { DataPointType, type Histogram, type MetricData } from '@opentelemetry/sdk-metrics'

const UNITS: Readonly<Record<string, string>> = { s: 'seconds', '1': '' }

type Kind = 'counter' | 'gauge' | 'histogram'

/** Returns the name of a metric in Prometheus. */
export function toPrometheusName(name: string, unit: string, kind: Kind): string {
	let tokens = name.split(/[^a-zA-Z0-9:]+/).filter((token) => token !== '')
	const [main = '', per = ''] = unit.split('/')
	const add = (suffix: string) => {
		if (suffix !== '' && !tokens.includes(suffix)) tokens.push(suffix)
	}
	if (!/[{}]/.test(main)) add(UNITS[main] ?? main)
	if (per !== '') add(`per_${per === 's' ? 'second' : per}`)
	const last = (suffix: string) => {
		tokens = [...tokens.filter((token) => token !== suffix), suffix]
	}
	if (kind === 'counter') last('total')
	if (kind === 'gauge' && unit === '1') last('ratio')
	return tokens.join('_')
}

const toLabel = (attribute: string): string => attribute.replaceAll(/[^a-zA-Z0-9_]/g, '_')

export interface OtelSample {
	readonly name: string
	readonly labels: Readonly<Record<string, string>>
	readonly value: number
}

/** Returns the series of a collection. */
export function toSamples(metrics: readonly MetricData[]): readonly OtelSample[] {
	return metrics.flatMap(({ descriptor, dataPointType, dataPoints }) => {
		const kind: Kind =
			dataPointType === DataPointType.SUM
				? 'counter'
				: dataPointType === DataPointType.GAUGE
					? 'gauge'
					: 'histogram'
		const name = toPrometheusName(descriptor.name, descriptor.unit, kind)
		return dataPoints.flatMap(({ attributes, value }): readonly OtelSample[] => {
			const labels = Object.fromEntries(
				Object.entries(attributes).map(([attribute, text]) => [toLabel(attribute), String(text)]),
			)
			return kind === 'histogram'
				? histogramSamples(name, labels, value as Histogram)
				: [{ name, labels, value: value as number }]
		})
	})
}

function histogramSamples(
	name: string,
	labels: OtelSample['labels'],
	{ buckets, sum = 0, count }: Histogram,
): readonly OtelSample[] {
	let below = 0
	return [
		...buckets.counts.map((inBucket, index) => {
			below += inBucket
			const le = String(buckets.boundaries[index] ?? '+Inf')
			return { name: `${name}_bucket`, labels: { ...labels, le }, value: below }
		}),
		{ name: `${name}_sum`, labels, value: sum },
		{ name: `${name}_count`, labels, value: count },
	]
}

/** Returns the text that Prometheus scrapes. The Collector adds `job` from the resource. */
export const toScrapedText = (samples: readonly OtelSample[], job: string): string =>
	samples
		.map(({ name, labels, value }) => {
			const pairs = Object.entries({ job, ...labels }).map(
				([label, text]) => `${label}=${JSON.stringify(text)}`,
			)
			return `${name}{${pairs.join(',')}} ${value}\n`
		})
		.join('')
