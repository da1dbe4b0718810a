/** The metrics of OpenTelemetry: the semantic conventions, and the catalog, as in Prometheus. */
import { METRICS, type MetricDefinition } from '../metrics/catalog.ts'
import { OTEL_ATTRIBUTES, OTEL_NAMES } from '../metrics/otel-names.ts'

export interface OtelMetricDefinition {
	readonly type: 'histogram' | 'counter' | 'gauge'
	/** UCUM. */
	readonly unit: string
	readonly description: string
	readonly attributes: readonly string[]
	/** Upper bounds in seconds; histograms only. */
	readonly bounds?: readonly number[]
}

/** The metrics of the conventions. */
export type ConventionName =
	| 'http.client.request.duration'
	| 'messaging.client.operation.duration'
	| 'messaging.client.sent.messages'
	| 'messaging.process.duration'

/** The bounds that the conventions advise, in seconds. */
export const DURATION_BOUNDS: readonly number[] = [
	0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
]

const MESSAGING = ['messaging.system', 'messaging.operation.name', 'messaging.destination.name', 'error.type']

const CONVENTIONS: Readonly<Record<ConventionName, OtelMetricDefinition>> = {
	'http.client.request.duration': {
		type: 'histogram',
		bounds: DURATION_BOUNDS,
		unit: 's',
		description: 'Duration of HTTP client requests: one value for each attempt.',
		attributes: [
			'http.request.method',
			'server.address',
			'server.port',
			'http.response.status_code',
			'error.type',
		],
	},
	'messaging.client.operation.duration': {
		type: 'histogram',
		bounds: DURATION_BOUNDS,
		unit: 's',
		description: 'Duration of writing messages to an outbox.',
		attributes: [...MESSAGING, 'messaging.operation.type'],
	},
	'messaging.client.sent.messages': {
		type: 'counter',
		unit: '{message}',
		description: 'Messages that were written to an outbox, or that failed to be written.',
		attributes: MESSAGING,
	},
	'messaging.process.duration': {
		type: 'histogram',
		bounds: DURATION_BOUNDS,
		unit: 's',
		description: 'Duration of deliveries by a relay: one value for each attempt.',
		attributes: [...MESSAGING, 'messaging.destination.subscription.name'],
	},
}

/** It has more attributes than in Prometheus, where each of them would multiply the buckets. */
export const CALL_DURATION = 'yaoki_call_duration_seconds'
const CALL_ATTRIBUTES = ['yaoki.outcome', 'error.type']

const otelAttribute = (label: string): string => OTEL_ATTRIBUTES[label] ?? label

/** Returns the name of a metric of the catalog. */
export const otelName = (metric: string): string => OTEL_NAMES[metric]?.[0] ?? metric

/** Returns the attributes of a series of a metric of the catalog, which has these label values. */
export const otelAttributes = (metric: string, values: readonly string[]): { [name: string]: string } =>
	Object.fromEntries(
		(METRICS[metric]?.labels ?? []).map((label, index) => [otelAttribute(label), values[index] ?? '']),
	)

/** All metrics, by name. */
export const OTEL_METRICS: Readonly<Record<string, OtelMetricDefinition>> = {
	...CONVENTIONS,
	...Object.fromEntries(
		Object.entries(METRICS).map(([metric, definition]) => [
			otelName(metric),
			toOtelDefinition(metric, definition),
		]),
	),
}

function toOtelDefinition(
	metric: string,
	{ type, labels, help, buckets }: MetricDefinition,
): OtelMetricDefinition {
	const more = metric === CALL_DURATION ? CALL_ATTRIBUTES : []
	return {
		type,
		unit: OTEL_NAMES[metric]?.[1] ?? '',
		description: help,
		attributes: [...labels.map(otelAttribute), ...more],
		...(buckets && { bounds: buckets }),
	}
}
