import { checkNames, type OptionSchema, readOptions } from '../../core/options/schema.ts'
import { Admissions } from './admission.ts'
import { METRICS } from './catalog.ts'
import { type Counter, counterFactory, Family, type Histogram, histogramFactory } from './series.ts'

/** Options of `inMemoryMetrics`, and of `prometheus`. */
export interface MetricsOptions {
	/**
	 * The maximum number of series of one metric. Values beyond it are added to series whose service,
	 * destination and topic are `other`; labels with few values, such as `result`, stay. A service has series
	 * of its own in all counters, or in none. Scrapes of more than about 10,000 series are expensive for most
	 * Prometheus servers. Default 1,000.
	 */
	readonly maxSeries?: number | undefined
}

export const METRICS_SCHEMA: OptionSchema = { maxSeries: [1, 1_000_000, 1_000, 'integer'] }

/** Validates the options and returns `maxSeries`. `owner` is named in the error of an unknown option. */
export function readMaxSeries(options: object, owner: string, schema: OptionSchema = METRICS_SCHEMA): number {
	checkNames(options, schema, owner)
	return readOptions<{ maxSeries: number }>(options, schema).maxSeries
}

const OVERFLOWS = 'yaoki_telemetry_overflows_total'

/** Creates series that are kept elsewhere, such as in an SDK of OpenTelemetry. */
export interface SeriesCreator {
	counter(name: string, labels: readonly string[]): Counter
	histogram(name: string, labels: readonly string[]): Histogram
}

/** The counters and histograms of the catalog. */
export class MetricSet {
	/** The maximum number of series of one metric, without `other`. */
	readonly maxSeries: number
	readonly #counters = new Map<string, Family<Counter>>()
	readonly #histograms = new Map<string, Family<Histogram>>()

	/** `creator`: default, series in memory. */
	constructor(maxSeries: number, creator?: SeriesCreator) {
		this.maxSeries = maxSeries
		const admissions = new Admissions(maxSeries)
		for (const [name, definition] of Object.entries(METRICS)) {
			const { type, labels, buckets = [] } = definition
			const admission = admissions.of(labels)
			const overflows = () => this.overflowsOf(name)
			// It has at most one series per metric, and must not overflow into itself.
			const limit = name === OVERFLOWS ? Infinity : maxSeries
			if (type === 'counter')
				this.#counters.set(
					name,
					new Family(
						definition,
						limit,
						counterFactory(overflows, creator && ((values) => creator.counter(name, values))),
						admission,
					),
				)
			if (type === 'histogram')
				this.#histograms.set(
					name,
					new Family(
						definition,
						maxSeries,
						histogramFactory(buckets, overflows, creator && ((values) => creator.histogram(name, values))),
						admission,
					),
				)
		}
	}

	/** Returns the counter of values that were added to `other` instead of a series of their own. */
	overflowsOf(name: string): Counter {
		return this.counter(OVERFLOWS).get(name)
	}

	/** Throws for a name that the catalog does not have. */
	counter(name: string): Family<Counter> {
		return found(this.#counters.get(name), name)
	}

	/** Throws for a name that the catalog does not have. */
	histogram(name: string): Family<Histogram> {
		return found(this.#histograms.get(name), name)
	}

	/** Sets a counter or histogram to 0. Its series stay, because collectors keep them. */
	reset(name: string): void {
		this.#counters.get(name)?.reset()
		this.#histograms.get(name)?.reset()
	}
}

function found<T>(family: T | undefined, name: string): T {
	if (family === undefined) throw new Error(`The catalog of metrics has no ${name} of this type`)
	return family
}
