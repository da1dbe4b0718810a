/**
 * Reads the gauges of all sources when they are scraped. The result is kept for a second, and concurrent
 * scrapes share one read, so that several scrapers do not multiply the queries of an outbox. A source that
 * fails, or does not respond in time, is left out.
 */
import { withTimeout } from '../../core/runtime/sleep.ts'
import { systemRuntime } from '../../core/runtime/system.ts'
import type { MetricSet } from '../metrics/metric-set.ts'
import type { ObservedSource } from '../observe/exporter.ts'
import { type GaugeReading, GaugeValues } from './gauge-values.ts'
import { policyGauges } from './policy-gauges.ts'
import { statsGauges } from './stats-gauges.ts'

const CACHED_MS = 1_000
const STATS_TIMEOUT_MS = 2_000

/** Receives what went wrong with a source. */
type ReportFailure = (source: ObservedSource, problem: string, error?: unknown) => void

export class GaugeReader {
	readonly #metrics: MetricSet
	readonly #onFailure: ReportFailure
	readonly #sources = new Set<SourceReader>()
	#reading: Promise<GaugeValues> | undefined
	/** When the latest read ended; Infinity while it runs. */
	#readAt = 0

	constructor(metrics: MetricSet, onFailure: ReportFailure) {
		this.#metrics = metrics
		this.#onFailure = onFailure
	}

	/** Adds a source. Returns a function that removes it. */
	add(source: ObservedSource): () => void {
		const reader = new SourceReader(source, this.#onFailure)
		this.#sources.add(reader)
		// What was read before has other sources.
		this.#reading = undefined
		return () => {
			this.#sources.delete(reader)
			this.#reading = undefined
		}
	}

	/** The sources, for what can be read synchronously. */
	sources(): readonly ObservedSource[] {
		return [...this.#sources].map(({ source }) => source)
	}

	/** Never rejects. */
	read(): Promise<GaugeValues> {
		if (!this.#reading || systemRuntime.now() - this.#readAt >= CACHED_MS) {
			this.#readAt = Infinity
			this.#reading = this.#readAll()
		}
		return this.#reading
	}

	async #readAll(): Promise<GaugeValues> {
		const metrics = this.#metrics
		const values = new GaugeValues(metrics.maxSeries, (name) => metrics.overflowsOf(name).add(1))
		const readings = await Promise.all([...this.#sources].map((reader) => reader.read()))
		for (const reading of readings.flat()) values.add(reading)
		this.#readAt = systemRuntime.now()
		return values
	}
}

class SourceReader {
	readonly source: ObservedSource
	readonly #onFailure: ReportFailure
	/** `stats()` is not called again before it has settled: queries would pile up in a database. */
	#isPending = false

	constructor(source: ObservedSource, onFailure: ReportFailure) {
		this.source = source
		this.#onFailure = onFailure
	}

	async read(): Promise<readonly GaugeReading[]> {
		const { source } = this
		try {
			const stats = source.stats && (await this.#readStats(source.stats))
			if (this.#isPending) return []
			return [...policyGauges(source), ...(stats === undefined ? [] : statsGauges(source, stats))]
		} catch (error) {
			this.#onFailure(source, 'its gauges are left out of the metrics because they cannot be read', error)
			return []
		}
	}

	async #readStats(stats: NonNullable<ObservedSource['stats']>): Promise<unknown> {
		let result: unknown
		if (!this.#isPending) {
			const pending = stats()
			if (!isPromise(pending)) return pending
			this.#isPending = true
			const end = () => {
				this.#isPending = false
			}
			pending.then(end, end)
			const settled = Promise.resolve(pending).then((value) => {
				result = value
			})
			await withTimeout(systemRuntime, STATS_TIMEOUT_MS, settled)
		}
		if (this.#isPending)
			this.#onFailure(
				this.source,
				`its gauges are left out of the metrics because its stats take longer than ${STATS_TIMEOUT_MS} ms`,
			)
		return result
	}
}

const isPromise = (value: unknown): value is PromiseLike<unknown> =>
	typeof (value as { then?: unknown } | null | undefined)?.then === 'function'
