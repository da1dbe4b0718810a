import { MetricsCollector } from '../collect/metrics-collector.ts'
import { type MetricsOptions, readMaxSeries } from '../metrics/metric-set.ts'
import type { Exporter } from '../observe/exporter.ts'
import { toExposition } from '../prometheus/exposition.ts'
import { readMetrics } from '../prometheus/reading.ts'
import { createSnapshot, type MetricsSnapshot } from './snapshot.ts'

/**
 * Metrics without a dependency, which `inMemoryMetrics` returns. Pass it to `observe` as an exporter, and
 * read it with `snapshot` or `toPrometheus`.
 */
export interface InMemoryMetrics extends Exporter {
	/**
	 * Returns the answers to the five questions of an operator as numbers, for each service and in total, since
	 * the exporter was created: how many calls are retried, how many of these succeed, which circuits open, how
	 * many retries a call needs, how many messages became dead letters.
	 */
	snapshot(): MetricsSnapshot
	/**
	 * Returns all metrics in the text format of Prometheus, version 0.0.4. It is asynchronous because the
	 * gauges of an outbox need a query; they are kept for a second. A source whose state cannot be read within
	 * 2 seconds is left out. Never rejects.
	 */
	toPrometheus(): Promise<string>
}

/**
 * Creates an exporter for `observe` that keeps metrics in memory, without a dependency. Use it for a
 * Prometheus endpoint without `prom-client`, for a status page, or in tests.
 *
 * @example
 * const metrics = inMemoryMetrics()
 * observe({ payments }, [metrics])
 * metrics.snapshot().total.retryRate
 * await metrics.toPrometheus()
 */
export function inMemoryMetrics(options: MetricsOptions = {}): InMemoryMetrics {
	const name = 'inMemoryMetrics'
	const collector = new MetricsCollector(name, readMaxSeries(options, name))
	return {
		name,
		attach: (source) => collector.attach(source),
		snapshot: () => createSnapshot(collector.metrics, collector.circuitStates()),
		toPrometheus: async () => toExposition(await readMetrics(collector)),
	}
}
