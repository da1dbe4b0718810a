/**
 * Series of the catalog whose values an SDK keeps. The collectors that count for Prometheus write into them
 * too, so that both exporters count the same by the same code. Counters that an SDK observes would be
 * simpler, but histograms cannot be observed.
 */
import type { SeriesCreator } from '../metrics/metric-set.ts'
import { Counter, Histogram } from '../metrics/series.ts'
import type { MetricAttributes } from './instruments.ts'
import { CALL_DURATION, otelAttributes, otelName } from './metric-definitions.ts'

type Record = (name: string, value: number, attributes: MetricAttributes) => void

class OtelCounter extends Counter {
	readonly #record: (amount: number) => void

	constructor(labels: readonly string[], record: (amount: number) => void) {
		super(labels)
		this.#record = record
		// Rates do not see how a series appears, so it starts with 0.
		record(0)
	}

	override add(amount: number): void {
		this.#record(amount)
	}
}

class OtelHistogram extends Histogram {
	readonly #record: (value: number) => void

	constructor(labels: readonly string[], record: (value: number) => void) {
		super(labels, [])
		this.#record = record
	}

	override record(value: number): void {
		// Records NaN as 0, as the series in memory do.
		this.#record(value > 0 ? value : 0)
	}
}

/** Creates series that pass values to `record`, and durations of calls to `recordCall`. */
export const otelSeries = (
	record: Record,
	recordCall: (service: string, seconds: number) => void,
): SeriesCreator => {
	const recorder = (metric: string, labels: readonly string[]) => {
		const [name, attributes] = [otelName(metric), otelAttributes(metric, labels)]
		return (value: number) => record(name, value, attributes)
	}
	return {
		counter: (metric, labels) => new OtelCounter(labels, recorder(metric, labels)),
		histogram: (metric, labels) =>
			new OtelHistogram(
				labels,
				metric === CALL_DURATION
					? (seconds) => recordCall(labels[0] ?? '', seconds)
					: recorder(metric, labels),
			),
	}
}
