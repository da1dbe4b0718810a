/** The metrics of OpenTelemetry: names and units of the semantic conventions where there are any, otherwise names with the prefix `yaoki.`. */

export interface OtelMetricDefinition {
	readonly type: 'histogram' | 'counter' | 'gauge'
	/** UCUM. */
	readonly unit: string
	readonly description: string
	readonly attributes: readonly string[]
}

export type OtelMetricName =
	| 'http.client.request.duration'
	| 'messaging.client.operation.duration'
	| 'messaging.client.sent.messages'
	| 'messaging.process.duration'
	| 'yaoki.call.duration'
	| 'yaoki.call.retries'
	| 'yaoki.circuit.transitions'
	| 'yaoki.circuit.state'
	| 'yaoki.relay.dead_letters'

const MESSAGING = ['messaging.system', 'messaging.operation.name', 'messaging.destination.name', 'error.type']

export const OTEL_METRICS: Readonly<Record<OtelMetricName, OtelMetricDefinition>> = {
	'http.client.request.duration': {
		type: 'histogram',
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
		unit: 's',
		description: 'Duration of deliveries by a relay: one value for each attempt.',
		attributes: [...MESSAGING, 'messaging.destination.subscription.name'],
	},
	'yaoki.call.duration': {
		type: 'histogram',
		unit: 's',
		description: 'Duration of calls, waits and retries included.',
		attributes: ['yaoki.service', 'yaoki.outcome', 'error.type'],
	},
	'yaoki.call.retries': {
		type: 'counter',
		unit: '{retry}',
		description: 'Retries of calls that ended.',
		attributes: ['yaoki.service'],
	},
	'yaoki.circuit.transitions': {
		type: 'counter',
		unit: '{transition}',
		description: 'Changes of the state of a circuit.',
		attributes: ['yaoki.service', 'yaoki.circuit.from', 'yaoki.circuit.to'],
	},
	'yaoki.circuit.state': {
		type: 'gauge',
		unit: '1',
		description: 'State of the circuit: 0 closed, 1 open or isolated, 2 half-open. With several, the worst.',
		attributes: ['yaoki.service'],
	},
	'yaoki.relay.dead_letters': {
		type: 'counter',
		unit: '{message}',
		description: 'Messages that became dead letters.',
		attributes: ['yaoki.service', 'messaging.destination.name', 'yaoki.cause'],
	},
}

/** The bounds that the conventions advise, in seconds. */
export const DURATION_BOUNDS: readonly number[] = [
	0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
]
