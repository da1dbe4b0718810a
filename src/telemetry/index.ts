/**
 * `yaoki/telemetry`: logs, metrics and traces of everything that emits events. Runs anywhere; what needs Node
 * is in `yaoki/telemetry/node`.
 */

export {
	type MetricsEndpoint,
	type MetricsEndpointOptions,
	metricsEndpoint,
} from './http/metrics-endpoint.ts'
export { type InMemoryMetrics, inMemoryMetrics } from './in-memory/in-memory.ts'
export type { MetricsSnapshot } from './in-memory/snapshot.ts'
export { type LoggerOptions, logger } from './logs/logger.ts'
export type { MetricsOptions } from './metrics/metric-set.ts'
export type { Exporter, ObservedSource } from './observe/exporter.ts'
export { type ObserveOptions, observe } from './observe/observe.ts'
export { type OpenTelemetryExporter, openTelemetry } from './opentelemetry/open-telemetry.ts'
export type { OpenTelemetryOptions } from './opentelemetry/options.ts'
export type { OpenTelemetryServer } from './opentelemetry/server-spans.ts'
export { type PrometheusOptions, prometheus } from './prometheus/prom-client.ts'
export type { RedactField } from './redact/redactor.ts'
