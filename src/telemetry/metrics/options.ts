import { checkNames, type OptionSchema, readOptions } from '../../core/options/schema.ts'

/** Options of `inMemoryMetrics`, and of `prometheus`. */
export interface MetricsOptions {
	/**
	 * The maximum number of series of one metric. Values beyond it are added to series whose service, destination and topic are `other`; labels with
	 * few values, such as `result`, stay. A service has series of its own in all counters, or in none. Scrapes of more than about 10,000 series are expensive for most Prometheus servers. Default 1,000.
	 */
	readonly maxSeries?: number | undefined
}

export const METRICS_SCHEMA: OptionSchema = { maxSeries: [1, 1_000_000, 1_000, 'integer'] }

/** Validates the options and returns `maxSeries`. `owner` is named in the error of an unknown option. */
export function readMaxSeries(options: object, owner: string, schema: OptionSchema = METRICS_SCHEMA): number {
	checkNames(options, schema, owner)
	return readOptions<{ maxSeries: number }>(options, schema).maxSeries
}
