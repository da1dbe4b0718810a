/** Counts calls. A successful first attempt allocates nothing and looks up no series. */
import { safeGet } from '../../core/classify/safe-get.ts'
import type { CallEnd } from '../../core/observe/observer.ts'
import type { MetricSet } from '../metrics/metric-set.ts'
import type { Counter, Histogram } from '../metrics/series.ts'
import { SeriesCache, SeriesGroup } from '../metrics/series-cache.ts'
import type { ObservedSource } from '../observe/exporter.ts'

const DEADLINE_EXCEEDED = 'YAOKI_DEADLINE_EXCEEDED'

/** Returns the function that receives the end of every call of a source. */
export function collectCalls(metrics: MetricSet, source: ObservedSource): (end: CallEnd) => void {
	const isHttp = source.kind === 'http'
	const create = (service?: string) => new CallSeries(metrics, service, isHttp)
	const services = new SeriesCache(metrics.maxSeries, create)
	return (end) => services.get(source.serviceOf(end), create).record(end)
}

/** The series of one service. Undefined: of all services beyond `maxSeries`. */
class CallSeries {
	readonly #series: SeriesGroup
	readonly #isHttp: boolean
	// Series of most queries exist from the first call, with 0: rates do not see how a series appears.
	readonly #successes: Counter
	readonly #attempts: Counter
	readonly #durations: Histogram
	readonly #retries: Counter
	readonly #retriedSuccesses: Counter
	readonly #retriedFailures: Counter

	constructor(metrics: MetricSet, service: string | undefined, isHttp: boolean) {
		const series = new SeriesGroup(metrics, service === undefined ? undefined : [service])
		this.#series = series
		this.#isHttp = isHttp
		this.#successes = series.counter('yaoki_calls_total', 'success')
		series.counter('yaoki_calls_total', 'failure')
		this.#attempts = series.counter('yaoki_attempts_total')
		this.#durations = series.histogram('yaoki_call_duration_seconds')
		this.#retries = series.counter('yaoki_retries_total')
		this.#retriedSuccesses = series.counter('yaoki_retried_calls_total', 'success')
		this.#retriedFailures = series.counter('yaoki_retried_calls_total', 'failure')
	}

	record(end: CallEnd): void {
		if (end.outcome === 'success') this.#successes.add(1)
		else this.#recordFailure(end)
		this.#attempts.add(end.attempts)
		this.#durations.record(end.durationMs / 1_000)
		if (end.retries > 0) this.#recordRetries(end)
	}

	#recordFailure({ outcome, error }: CallEnd): void {
		this.#series.counter('yaoki_calls_total', outcome).add(1)
		if (safeGet(error, 'code') === DEADLINE_EXCEEDED)
			this.#series.counter('yaoki_deadlines_exceeded_total').add(1)
	}

	#recordRetries({ outcome, retries, durationMs }: CallEnd): void {
		this.#retries.add(retries)
		// A fallback means that the retries did not help.
		if (outcome === 'success') this.#retriedSuccesses.add(1)
		else this.#retriedFailures.add(1)
		if (!this.#isHttp) return
		const result = outcome === 'success' || outcome === 'fallback' ? 'success' : 'failure'
		this.#series.histogram('http_client_retry_duration_seconds', result).record(durationMs / 1_000)
	}
}
