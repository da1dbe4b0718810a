import type { CircuitState } from '../../core/events/events.ts'
import type { Observer } from '../../core/observe/observer.ts'
import { MetricSet, type SeriesCreator } from '../metrics/metric-set.ts'
import type { ObservedSource } from '../observe/exporter.ts'
import { ProblemReports } from '../observe/report.ts'
import { collectCalls } from './collect-calls.ts'
import {
	collectInboxEvents,
	countEvents,
	countMessages,
	IDEMPOTENCY_EVENTS,
	POLICY_EVENTS,
	WEBHOOK_EVENTS,
} from './collect-events.ts'
import { collectRelayEvents } from './collect-relay-events.ts'
import type { GaugeValues } from './gauge-values.ts'
import { GaugeReader } from './gauges.ts'
import { circuitStates } from './policy-gauges.ts'

/** The metrics of all observed sources: counters from events, gauges from `stats` when they are read. */
export class MetricsCollector {
	readonly metrics: MetricSet
	readonly #gauges: GaugeReader
	readonly #exporter: string
	readonly #reports: ProblemReports

	constructor(exporter: string, maxSeries: number, creator?: SeriesCreator) {
		this.metrics = new MetricSet(maxSeries, creator)
		this.#exporter = exporter
		this.#reports = new ProblemReports(exporter)
		this.#gauges = new GaugeReader(this.metrics, (...failure) => this.#failGauges(...failure))
	}

	/** Returns the state of every circuit, with its service. A source whose policies throw is left out. */
	circuitStates(): readonly (readonly [service: string, state: CircuitState])[] {
		return this.#gauges.sources().flatMap((source) => {
			try {
				return [...circuitStates(source)]
			} catch (error) {
				this.#failGauges(source, 'its circuits are left out because they cannot be read', error)
				return []
			}
		})
	}

	attach(source: ObservedSource): Observer & { detach(): void } {
		const detach = this.#gauges.add(source)
		const { metrics } = this
		switch (source.kind) {
			case 'relay':
				return { onEvent: collectRelayEvents(metrics, source), detach }
			case 'outbox':
				return { onEvent: countMessages(metrics, source), detach }
			case 'inbox':
				return { onEvent: collectInboxEvents(metrics, source), detach }
			case 'webhooks':
				return { onEvent: countEvents(WEBHOOK_EVENTS, metrics, source), detach }
			case 'idempotency':
				return { onEvent: countEvents(IDEMPOTENCY_EVENTS, metrics, source), detach }
			default:
				return {
					onEvent: countEvents(POLICY_EVENTS, metrics, source),
					onCallEnd: collectCalls(metrics, source),
					detach,
				}
		}
	}

	/** Reports a problem once and counts it. */
	fail(key: string, text: string, error?: unknown): void {
		this.#reports.report(key, text, error)
		this.metrics.counter('yaoki_telemetry_failures_total').get(this.#exporter).add(1)
	}

	/** Reads the gauges of all sources. Concurrent calls share one read. Never rejects. */
	async readGauges(): Promise<GaugeValues> {
		const { metrics } = this
		const gauges = await this.#gauges.read()
		const transitions = metrics.counter('yaoki_circuit_breaker_transitions_total')
		// Rates do not see how a series appears: without these, the first opening of a circuit would be
		// invisible.
		for (const { labels } of gauges.series('circuit_breaker_state'))
			for (const from of ['closed', 'half-open']) transitions.get(labels[0] ?? '', from, 'open')
		return gauges
	}

	#failGauges(source: ObservedSource, problem: string, error?: unknown): void {
		this.fail(`gauges of ${source.name}`, `${source.name}: ${problem}`, error)
	}
}
