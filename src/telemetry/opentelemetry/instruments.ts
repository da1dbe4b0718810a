import type { ProblemReports } from '../observe/report.ts'
import type { OpenTelemetryApi, OtelMeter, OtelMeterProvider, OtelObservableResult } from './api.ts'
import { OTEL_METRICS, type OtelMetricDefinition } from './metric-definitions.ts'
import { SCOPE } from './tracing.ts'

export type MetricAttributes = { [name: string]: string | number }

/** Reports the values of a gauge when metrics are collected. Never rejects. */
type ObserveGauge = (name: string, result: OtelObservableResult) => Promise<void>

type Instrument = (value: number, attributes: MetricAttributes) => void

/**
 * The instruments of the current meter provider. The API has no proxy for meters as it has one for tracers,
 * so the provider is compared each time: an SDK may be registered after the exporter was created.
 */
export class Instruments {
	readonly #api: OpenTelemetryApi
	readonly #reports: ProblemReports
	readonly #observe: ObserveGauge
	#provider: OtelMeterProvider | undefined
	#instruments: ReadonlyMap<string, Instrument> | undefined
	#removeGauges: (() => void)[] = []

	constructor(api: OpenTelemetryApi, reports: ProblemReports, observe: ObserveGauge) {
		this.#api = api
		this.#reports = reports
		this.#observe = observe
	}

	/** Looks up the provider. Returns false if there is no SDK, so that the caller need not compute a value. */
	refresh(): boolean {
		try {
			const provider = this.#api.metrics.getMeterProvider()
			if (provider !== this.#provider) this.#create(provider)
		} catch (error) {
			this.#reports.report('meter', 'metrics could not be created', error)
		}
		return this.#instruments !== undefined
	}

	/** Adds a value. Call `refresh` before. */
	record(name: string, value: number, attributes: MetricAttributes): void {
		try {
			this.#instruments?.get(name)?.(value, attributes)
		} catch (error) {
			this.#reports.report('record', 'a value could not be recorded', error)
		}
	}

	/** Removes the gauges. The next `refresh` creates everything again. */
	close(): void {
		this.#provider = undefined
		this.#instruments = undefined
		for (const remove of this.#removeGauges)
			try {
				remove()
			} catch (error) {
				this.#reports.report('meter', 'a gauge could not be removed', error)
			}
		this.#removeGauges = []
	}

	#create(provider: OtelMeterProvider): void {
		this.close()
		// Remembered before anything can throw: a provider that fails is not asked again for each call.
		this.#provider = provider
		const meter = provider.getMeter(SCOPE)
		if (meter === this.#api.createNoopMeter?.()) return
		const instruments = new Map<string, Instrument>()
		for (const [name, definition] of Object.entries(OTEL_METRICS)) {
			if (definition.type === 'gauge') this.#addGauge(meter, name, definition)
			else instruments.set(name, createInstrument(meter, name, definition))
		}
		this.#instruments = instruments
	}

	#addGauge(meter: OtelMeter, name: string, { unit, description }: OtelMetricDefinition): void {
		const gauge = meter.createObservableGauge(name, { unit, description })
		const observe = (result: OtelObservableResult) => this.#observe(name, result)
		gauge.addCallback(observe)
		this.#removeGauges.push(() => gauge.removeCallback(observe))
	}
}

function createInstrument(
	meter: OtelMeter,
	name: string,
	{ type, unit, description, bounds = [] }: OtelMetricDefinition,
): Instrument {
	if (type === 'counter') {
		const counter = meter.createCounter(name, { unit, description })
		return (value, attributes) => counter.add(value, attributes)
	}
	const advice = { explicitBucketBoundaries: [...bounds] }
	const histogram = meter.createHistogram(name, { unit, description, advice })
	return (value, attributes) => histogram.record(value, attributes)
}
