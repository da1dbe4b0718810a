/** `yaoki/telemetry`: logs, metrics and traces of everything that emits events. Runs anywhere; what needs Node is in `yaoki/telemetry/node`. */

export {
	type MetricsEndpoint,
	type MetricsEndpointOptions,
	type MetricsFastifyReply,
	type MetricsHonoContext,
	type MetricsNodeResponse,
	metricsEndpoint,
} from './http/metrics-endpoint.ts'
export type { PrometheusRegistry, PrometheusText } from './http/scrape.ts'
export { type InMemoryMetrics, inMemoryMetrics } from './in-memory/in-memory.ts'
export type {
	CircuitsSnapshot,
	DeadLettersSnapshot,
	MetricsSnapshot,
	ServiceSnapshot,
} from './in-memory/snapshot.ts'
export type { LogLevel } from './logs/levels.ts'
export { type LoggerOptions, logger } from './logs/logger.ts'
export type { LogFunction, LogMethod, LogOrder, LogTarget } from './logs/target.ts'
export type { MetricsOptions } from './metrics/options.ts'
export type { Exporter, ObservedSource, ServiceFacts } from './observe/exporter.ts'
export { type ObserveOptions, observe } from './observe/observe.ts'
export type {
	OpenTelemetryApi,
	OtelContext,
	OtelMeter,
	OtelMeterProvider,
	OtelMetricOptions,
	OtelObservableGauge,
	OtelObservableResult,
	OtelSpan,
	OtelSpanContext,
	OtelSpanOptions,
	OtelTracer,
	OtelTracerProvider,
} from './opentelemetry/api.ts'
export { type OpenTelemetryExporter, openTelemetry } from './opentelemetry/open-telemetry.ts'
export type { OpenTelemetryOptions } from './opentelemetry/options.ts'
export type {
	OpenTelemetryServer,
	TracedFastifyApp,
	TracedFastifyRequest,
	TracedHonoContext,
	TracedNodeRequest,
	TracedNodeResponse,
} from './opentelemetry/server-spans.ts'
export {
	type PromClient,
	type PrometheusOptions,
	type PromRegistry,
	prometheus,
} from './prometheus/prom-client.ts'
export type { RedactField } from './redact/redactor.ts'
