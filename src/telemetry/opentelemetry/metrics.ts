import type { EventBase } from '../../core/events/events.ts'
import type { CallEnd, Observer } from '../../core/observe/observer.ts'
import { MetricsCollector } from '../collect/metrics-collector.ts'
import { METRICS } from '../metrics/catalog.ts'
import type { ObservedSource } from '../observe/exporter.ts'
import type { ProblemReports } from '../observe/report.ts'
import type { OpenTelemetryApi, OtelObservableResult } from './api.ts'
import { errorTypeOf } from './errors.ts'
import { Instruments, type MetricAttributes } from './instruments.ts'
import { CALL_DURATION, type ConventionName, otelAttributes, otelName } from './metric-definitions.ts'
import { otelSeries } from './otel-series.ts'

/** This many sets of attributes are kept. Further sets are created for each value. */
const MAX_ATTRIBUTE_SETS = 1_000
const CALL_DURATION_NAME = otelName(CALL_DURATION)
const GAUGES = new Map(
	Object.entries(METRICS).flatMap(([metric, { type }]) =>
		type === 'gauge' ? [[otelName(metric), metric]] : [],
	),
)

/** Counts what happens to one source. */
export interface SourceMetrics {
	recordCall(end: CallEnd): void
	recordEvent(event: EventBase): void
	remove(): void
}

/** The values of all metrics of one exporter. */
export class OtelMetrics {
	readonly #instruments: Instruments
	readonly #collector: MetricsCollector
	readonly #known = new Map<string, MetricAttributes>()
	readonly #successes = new Map<string, MetricAttributes>()
	readonly #reports: ProblemReports
	#sources = 0
	/** The call that is being counted, synchronously. */
	#ending: CallEnd | undefined

	constructor(api: OpenTelemetryApi, reports: ProblemReports, name: string, maxSeries: number) {
		this.#reports = reports
		this.#instruments = new Instruments(api, reports, (gauge, result) => this.#observe(gauge, result))
		this.#collector = new MetricsCollector(
			name,
			maxSeries,
			otelSeries(
				(metric, value, attributes) => this.#instruments.record(metric, value, attributes),
				(service, seconds) => this.#recordDuration(service, seconds),
			),
		)
	}

	add(source: ObservedSource): SourceMetrics {
		this.#sources++
		this.#instruments.refresh()
		const observer: Observer & { detach(): void } = this.#collector.attach(source)
		return {
			recordCall: (end) => {
				if (!this.isActive) return
				this.#ending = end
				this.#guarded(() => observer.onCallEnd?.(end))
				this.#ending = undefined
			},
			recordEvent: (event) => {
				if (this.isActive) this.#guarded(() => observer.onEvent?.(event))
			},
			remove: () => {
				observer.detach()
				if (--this.#sources === 0) this.#instruments.close()
			},
		}
	}

	/** Returns false if no SDK is registered. */
	get isActive(): boolean {
		return this.#instruments.refresh()
	}

	/** Adds a value. `key` identifies the attributes within the metric. */
	record(name: ConventionName, value: number, key: string, attributes: () => MetricAttributes): void {
		if (this.isActive) this.#instruments.record(name, value, this.#attributes(`${name}\n${key}`, attributes))
	}

	/** An event of another version may lack a field. The span of the call must end all the same. */
	#guarded(count: () => void): void {
		try {
			count()
		} catch (error) {
			this.#reports.report('count', 'an event could not be counted', error)
		}
	}

	#recordDuration(service: string, seconds: number): void {
		const { outcome = 'success', error } = this.#ending ?? {}
		const attributes =
			outcome === 'success' ? this.#success(service) : this.#otherOutcome(service, outcome, error)
		this.#instruments.record(CALL_DURATION_NAME, seconds, attributes)
	}

	#success(service: string): MetricAttributes {
		const known = this.#successes.get(service)
		if (known) return known
		const created = { 'yaoki.service': service, 'yaoki.outcome': 'success' }
		if (this.#successes.size < MAX_ATTRIBUTE_SETS) this.#successes.set(service, created)
		return created
	}

	#otherOutcome(service: string, outcome: CallEnd['outcome'], error: unknown): MetricAttributes {
		const type = outcome === 'fallback' ? undefined : errorTypeOf(error)
		return this.#attributes(`${service}\n${outcome}\n${type}`, () => ({
			'yaoki.service': service,
			'yaoki.outcome': outcome,
			...(type !== undefined && { 'error.type': type }),
		}))
	}

	#attributes(key: string, create: () => MetricAttributes): MetricAttributes {
		const known = this.#known.get(key)
		if (known) return known
		const created = create()
		if (this.#known.size < MAX_ATTRIBUTE_SETS) this.#known.set(key, created)
		return created
	}

	async #observe(name: string, result: OtelObservableResult): Promise<void> {
		const metric = GAUGES.get(name) ?? name
		const gauges = await this.#collector.readGauges()
		for (const { labels, value } of gauges.series(metric))
			result.observe(value, otelAttributes(metric, labels))
	}
}
