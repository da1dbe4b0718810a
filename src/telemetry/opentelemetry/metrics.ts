import type { EventBase } from '../../core/events/events.ts'
import type { CallEnd } from '../../core/observe/observer.ts'
import { GaugeValues } from '../collect/gauge-values.ts'
import { circuitStates, toStateValue } from '../collect/policy-gauges.ts'
import type { Source } from '../observe/exporter.ts'
import type { ProblemReports } from '../observe/report.ts'
import type { OpenTelemetryApi, OtelObservableResult } from './api.ts'
import { errorTypeOf } from './errors.ts'
import { Instruments, type MetricAttributes } from './instruments.ts'
import type { OtelMetricName } from './metric-definitions.ts'

/** How many sets of attributes are kept. Further ones are created for each value. */
const MAX_ATTRIBUTE_SETS = 1_000
/** The metric of the catalog that has the same values. */
const CIRCUIT_STATE = 'circuit_breaker_state'

/** The values of all metrics of one exporter. */
export class OtelMetrics {
	readonly #instruments: Instruments
	readonly #sources = new Set<Source>()
	readonly #known = new Map<string, MetricAttributes>()
	readonly #successes = new Map<string, MetricAttributes>()
	readonly #reports: ProblemReports

	constructor(api: OpenTelemetryApi, reports: ProblemReports) {
		this.#reports = reports
		this.#instruments = new Instruments(api, reports, (result) => this.#observe(result))
	}

	add(source: Source): void {
		this.#sources.add(source)
		this.#instruments.refresh()
	}

	remove(source: Source): void {
		this.#sources.delete(source)
		if (this.#sources.size === 0) this.#instruments.close()
	}

	/** Returns false if no SDK is registered. */
	get isActive(): boolean {
		return this.#instruments.refresh()
	}

	recordCall({ serviceOf }: Source, end: CallEnd): void {
		if (!this.isActive) return
		const service = serviceOf(end)
		const attributes =
			end.outcome === 'success' ? this.#success(service) : this.#otherOutcome(service, end.outcome, end.error)
		this.#instruments.record('yaoki.call.duration', end.durationMs / 1_000, attributes)
		if (end.retries > 0)
			this.record('yaoki.call.retries', end.retries, service, () => ({ 'yaoki.service': service }))
	}

	recordEvent({ serviceOf }: Source, event: EventBase): void {
		if (event.type === 'state_change') this.#recordTransition(serviceOf(event), event)
		else if (event.type === 'dead_letter') this.#recordDeadLetter(serviceOf(event), event)
	}

	/** Adds a value. `key` identifies the attributes within the metric. */
	record(name: OtelMetricName, value: number, key: string, attributes: () => MetricAttributes): void {
		if (this.isActive) this.#instruments.record(name, value, this.#attributes(`${name}\n${key}`, attributes))
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

	#recordTransition(service: string, event: EventBase & { from?: unknown; to?: unknown }): void {
		const [from, to] = [String(event.from), String(event.to)]
		this.record('yaoki.circuit.transitions', 1, `${service}\n${from}\n${to}`, () => ({
			'yaoki.service': service,
			'yaoki.circuit.from': from,
			'yaoki.circuit.to': to,
		}))
	}

	#recordDeadLetter(service: string, event: EventBase & { topic?: unknown; cause?: unknown }): void {
		const [topic, cause] = [String(event.topic), String(event.cause)]
		this.record('yaoki.relay.dead_letters', 1, `${service}\n${topic}\n${cause}`, () => ({
			'yaoki.service': service,
			'messaging.destination.name': topic,
			'yaoki.cause': cause,
		}))
	}

	#attributes(key: string, create: () => MetricAttributes): MetricAttributes {
		const known = this.#known.get(key)
		if (known) return known
		const created = create()
		if (this.#known.size < MAX_ATTRIBUTE_SETS) this.#known.set(key, created)
		return created
	}

	#observe(result: OtelObservableResult): void {
		const states = new GaugeValues(MAX_ATTRIBUTE_SETS, () => {})
		for (const source of this.#sources) {
			try {
				for (const [service, state] of circuitStates(source))
					states.add([CIRCUIT_STATE, [service], toStateValue(state)])
			} catch (error) {
				this.#reports.report('gauge', `the circuits of ${source.name} could not be read`, error)
			}
		}
		for (const { labels, value } of states.series(CIRCUIT_STATE))
			result.observe(value, { 'yaoki.service': labels[0] ?? '' })
	}
}
