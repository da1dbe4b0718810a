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
const LEFT_OUT = 'its gauges are left out of the metrics because'

/** Receives what went wrong with a source. */
type ReportFailure = (source: ObservedSource, problem: string, error?: unknown) => void

export class GaugeReader {
	readonly #metrics: MetricSet
	readonly #onFailure: ReportFailure
	readonly #readers = new Set<SourceReader>()
	#reading: Promise<GaugeValues> | undefined
	/** When the latest read ended; Infinity while it runs. */
	#readAt = 0

	constructor(metrics: MetricSet, onFailure: ReportFailure) {
		this.#metrics = metrics
		this.#onFailure = onFailure
	}

	/** Adds a source. Returns a function that removes it. */
	add(source: ObservedSource): () => void {
		const reader = { source, read: sourceReader(source, this.#onFailure) }
		this.#readers.add(reader)
		// The values that were read before lack this source.
		this.#reading = undefined
		return () => {
			this.#readers.delete(reader)
			this.#reading = undefined
		}
	}

	/** The sources, for what can be read synchronously. */
	sources(): readonly ObservedSource[] {
		return [...this.#readers].map(({ source }) => source)
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
		const readings = await Promise.all([...this.#readers].map(({ read }) => read()))
		for (const reading of readings.flat()) values.add(reading)
		this.#readAt = systemRuntime.now()
		return values
	}
}

interface SourceReader {
	readonly source: ObservedSource
	/** Never rejects. */
	read(): Promise<readonly GaugeReading[]>
}

/** Returns the function that reads the gauges of a source. */
function sourceReader(source: ObservedSource, onFailure: ReportFailure): SourceReader['read'] {
	/** `stats()` is not called again before it has settled: queries would pile up in a database. */
	let isPending = false

	const readStats = async (stats: NonNullable<ObservedSource['stats']>): Promise<unknown> => {
		let result: unknown
		if (!isPending) {
			const pending = stats()
			if (!isPromise(pending)) return pending
			isPending = true
			const end = () => {
				isPending = false
			}
			pending.then(end, end)
			const settled = Promise.resolve(pending).then((value) => {
				result = value
			})
			await withTimeout(systemRuntime, STATS_TIMEOUT_MS, settled)
		}
		if (isPending) onFailure(source, `${LEFT_OUT} its stats take longer than ${STATS_TIMEOUT_MS} ms`)
		return result
	}

	return async () => {
		try {
			const stats = source.stats && (await readStats(source.stats))
			if (isPending) return []
			return [...policyGauges(source), ...(stats === undefined ? [] : statsGauges(source, stats))]
		} catch (error) {
			onFailure(source, `${LEFT_OUT} they cannot be read`, error)
			return []
		}
	}
}

const isPromise = (value: unknown): value is PromiseLike<unknown> =>
	typeof (value as { then?: unknown } | null | undefined)?.then === 'function'
