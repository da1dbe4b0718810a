import { checkNames, invalidArgument, type OptionSchema, readOptions } from '../../core/options/schema.ts'
import { METRICS_SCHEMA } from '../metrics/metric-set.ts'
import type { RedactField } from '../redact/redactor.ts'
import type { OpenTelemetryApi } from './api.ts'

/** Options of `openTelemetry`, its second argument. */
export interface OpenTelemetryOptions {
	/** False: no spans, and no trace context in requests and messages. Default true. */
	readonly spans?: boolean | undefined
	/** False: no metrics. Default true. */
	readonly metrics?: boolean | undefined
	/**
	 * False: no spans and no `http.client.request.duration` for attempts, only spans for calls. Use it together
	 * with `propagate: false` if an instrumentation of fetch creates spans for requests, such as
	 * `@opentelemetry/instrumentation-undici`. Default true.
	 */
	readonly attempts?: boolean | undefined
	/**
	 * False: no trace context is added to HTTP requests, because an instrumentation of fetch does it. Messages
	 * of an outbox always have one. Default true.
	 */
	readonly propagate?: boolean | undefined
	/**
	 * How the span of a delivery refers to the one that enqueued the message. `'parent'`: both are in one
	 * trace. `'link'`: each delivery has a trace of its own, with a link, for messages that are delivered days
	 * later. Default `'parent'`.
	 */
	readonly delivery?: 'parent' | 'link' | undefined
	/**
	 * The maximum number of series of one metric, as for `inMemoryMetrics`. Metrics of the semantic conventions
	 * have no limit. Default 1,000.
	 */
	readonly maxSeries?: number | undefined
	/**
	 * Returns what a span shows of a text, such as `exception.message`, to hide more than URLs, passwords and
	 * tokens. Default: the text.
	 */
	readonly redact?: RedactField | undefined
}

export type OpenTelemetrySettings = {
	readonly [Name in keyof Omit<OpenTelemetryOptions, 'redact'>]-?: NonNullable<OpenTelemetryOptions[Name]>
} & Pick<OpenTelemetryOptions, 'redact'>

const OPEN_TELEMETRY_SCHEMA: OptionSchema = {
	spans: 'boolean',
	metrics: 'boolean',
	attempts: 'boolean',
	propagate: 'boolean',
	delivery: ['parent', 'link'],
	...METRICS_SCHEMA,
	redact: 'function',
}

export function readOpenTelemetryOptions(given: OpenTelemetryOptions = {}): OpenTelemetrySettings {
	checkNames(given, OPEN_TELEMETRY_SCHEMA, 'openTelemetry')
	const defaults = { spans: true, metrics: true, attempts: true, propagate: true }
	return { ...defaults, ...readOptions<OpenTelemetrySettings>(given, OPEN_TELEMETRY_SCHEMA) }
}

const PARTS: readonly (readonly [part: string, member: string, type: string])[] = [
	['trace', 'getTracerProvider', 'function'],
	['context', 'with', 'function'],
	['propagation', 'inject', 'function'],
	['metrics', 'getMeterProvider', 'function'],
	['SpanKind', 'CLIENT', 'number'],
	['SpanStatusCode', 'ERROR', 'number'],
]

/** Throws unless `api` is the module, for example because a tracer was passed. */
export function checkApi(api: OpenTelemetryApi): void {
	const parts = Object(api)
	if (PARTS.some(([part, member, type]) => typeof parts[part]?.[member] !== type))
		invalidArgument('api', api, 'the module @opentelemetry/api, version 1.4 or later')
}
