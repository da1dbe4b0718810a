/** The real SDKs of OpenTelemetry with exporters in memory, registered globally as an application does. */
import * as otel from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import {
	AggregationTemporality,
	InMemoryMetricExporter,
	MeterProvider,
	type MetricData,
	PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import {
	InMemorySpanExporter,
	type ReadableSpan,
	type Sampler,
	SimpleSpanProcessor,
	TracerProvider,
} from '@opentelemetry/sdk-trace'

interface Point {
	readonly attributes: Readonly<Record<string, unknown>>
	/** The sum of a counter, the value of a gauge, or count and sum of a histogram. */
	readonly value: unknown
}

export interface Sdk {
	/** All spans that have ended, in the order of their ends. */
	spans(): readonly ReadableSpan[]
	span(name: string): ReadableSpan
	/** The points of a metric, from a new collection. */
	points(name: string): Promise<readonly Point[]>
	/** All metrics of a new collection. */
	collect(): Promise<readonly MetricData[]>
	/** Unregisters everything, for the other test files of this process. */
	stop(): Promise<void>
}

export function startSdk(options: { readonly sampler?: Sampler } = {}): Sdk {
	const exporter = new InMemorySpanExporter()
	const tracers = new TracerProvider({ ...options, spanProcessors: [new SimpleSpanProcessor({ exporter })] })
	const metrics = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
	// Collected by `forceFlush`; the interval is longer than any test.
	const reader = new PeriodicExportingMetricReader({ exporter: metrics, exportIntervalMillis: 3_600_000 })
	const meters = new MeterProvider({ readers: [reader] })
	otel.context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
	otel.propagation.setGlobalPropagator(new W3CTraceContextPropagator())
	otel.trace.setGlobalTracerProvider(tracers)
	otel.metrics.setGlobalMeterProvider(meters)

	const collect = async () => {
		metrics.reset()
		await meters.forceFlush()
		return metrics.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics))
	}
	const spans = () => exporter.getFinishedSpans()
	return {
		spans,
		span(name) {
			const found = spans().find((span) => span.name === name)
			if (!found) throw new Error(`no span ${name}; there are ${spans().map((span) => span.name)}`)
			return found
		},
		collect,
		async points(name) {
			return (await collect())
				.filter(({ descriptor }) => descriptor.name === name)
				.flatMap(({ dataPoints }): readonly Point[] => dataPoints)
		},
		async stop() {
			for (const api of [otel.trace, otel.metrics, otel.context, otel.propagation]) api.disable()
			await Promise.all([tracers.shutdown(), meters.shutdown()])
		},
	}
}

/** The id of the parent span. */
export const parentOf = (span: ReadableSpan): string | undefined => span.parentSpanContext?.spanId

export const idOf = (span: ReadableSpan): string => span.spanContext().spanId
