import { checkNames, type OptionSchema, readOptions } from '../../core/options/schema.ts'
import { Admission } from './admission.ts'
import { METRICS, unboundedLabels } from './catalog.ts'
import { Counter, Family, Histogram, OverflowCounter, OverflowHistogram } from './series.ts'

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

/** Creates series: in memory, or with values that an SDK of OpenTelemetry keeps. */
export interface SeriesCreator {
	counter(name: string, labels: readonly string[]): Counter
	histogram(name: string, labels: readonly string[]): Histogram
}

const IN_MEMORY: SeriesCreator = {
	counter: (_, labels) => new Counter(labels),
	histogram: (name, labels) => new Histogram(labels, METRICS[name]?.buckets ?? []),
}

/** The counters and histograms of the catalog. */
export class MetricSet {
	/** The maximum number of series of one metric, without `other`. */
	readonly maxSeries: number
	readonly #counters = new Map<string, Family<Counter>>()
	readonly #histograms = new Map<string, Family<Histogram>>()

	constructor(maxSeries: number, creator: SeriesCreator = IN_MEMORY) {
		this.maxSeries = maxSeries
		const admissions = new Map<string, Admission>()
		for (const [name, { type, labels }] of Object.entries(METRICS)) {
			// Metrics with the same unbounded labels share an admission.
			const shared = unboundedLabels(labels).join(' ')
			const admission = admissions.get(shared) ?? new Admission(maxSeries)
			admissions.set(shared, admission)
			// The counter of overflows has at most one series per metric, and must not overflow into itself.
			const settings = { labels, admission, maxSeries: name === OVERFLOWS ? Infinity : maxSeries }
			if (type === 'counter') {
				const create = (values: readonly string[]) => creator.counter(name, values)
				const overflowTo = (other: Counter) => new OverflowCounter(other, this.overflowsOf(name))
				this.#counters.set(name, new Family({ ...settings, create, overflowTo }))
			}
			if (type === 'histogram') {
				const create = (values: readonly string[]) => creator.histogram(name, values)
				const overflowTo = (other: Histogram) => new OverflowHistogram(other, this.overflowsOf(name))
				this.#histograms.set(name, new Family({ ...settings, create, overflowTo }))
			}
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
