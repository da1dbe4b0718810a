import type { CircuitState } from '../../core/events/events.ts'
import { ENDPOINT_PATTERN } from '../../webhooks/endpoint-names.ts'
import { OTHER } from '../metrics/catalog.ts'
import type { MetricSet } from '../metrics/metric-set.ts'
import { toLabelValue } from '../metrics/series.ts'

/**
 * The five questions of an operator, answered for one service or for all: retry rate, retry success,
 * circuits, retries per call, dead letters.
 */
interface ServiceSnapshot {
	/** Calls that ended. */
	readonly calls: number
	/** Calls with at least one retry. */
	readonly retriedCalls: number
	/** All retries of these calls. */
	readonly retries: number
	/** The share of calls that were retried, from 0 to 1; 0 without calls. */
	readonly retryRate: number
	/** The share of retried calls that succeeded without a fallback, 0 to 1; null if none was retried. */
	readonly retrySuccessRate: number | null
	/** Retries per call, including calls without retries; 0 without calls. */
	readonly meanRetriesPerCall: number
	readonly circuits: CircuitsSnapshot
	readonly deadLetters: DeadLettersSnapshot
}

/** The circuits of policies, clients and destinations, without endpoints of webhooks. */
interface CircuitsSnapshot {
	/** How often a circuit opened, from any state. */
	readonly opened: number
	/** How often a half-open circuit opened again: the dependency had not recovered. Part of `opened`. */
	readonly reopened: number
	/**
	 * The worst current state: `isolated`, `open`, `half-open`, `closed`; null without a circuit. Circuits of
	 * destinations are not included, because their state is in the database.
	 */
	readonly state: CircuitState | null
}

/** Messages that became dead letters. */
interface DeadLettersSnapshot {
	readonly total: number
	/** By cause, such as `retries-exhausted`; causes that did not occur are missing. */
	readonly byCause: Readonly<Record<string, number>>
}

/** Counts and rates of all services, and of each. `snapshot()` of `inMemoryMetrics()` returns it. */
export interface MetricsSnapshot {
	/** Over all services. */
	readonly total: ServiceSnapshot
	/** By service. `other` contains the services beyond `maxSeries`. */
	readonly services: Readonly<Record<string, ServiceSnapshot>>
}

const BY_SEVERITY: readonly CircuitState[] = ['isolated', 'open', 'half-open', 'closed']

/** Sums of one service. */
class Sums {
	calls = 0
	retriedCalls = 0
	retriedSuccesses = 0
	retries = 0
	opened = 0
	reopened = 0
	state: CircuitState | null = null
	readonly deadLetters = new Map<string, number>()

	addState(state: CircuitState): void {
		if (this.state === null || BY_SEVERITY.indexOf(state) < BY_SEVERITY.indexOf(this.state))
			this.state = state
	}

	toSnapshot(): ServiceSnapshot {
		const { calls, retriedCalls, retriedSuccesses, retries, opened, reopened, state, deadLetters } = this
		return {
			calls,
			retriedCalls,
			retries,
			retryRate: calls > 0 ? retriedCalls / calls : 0,
			retrySuccessRate: retriedCalls > 0 ? retriedSuccesses / retriedCalls : null,
			meanRetriesPerCall: calls > 0 ? retries / calls : 0,
			circuits: { opened, reopened, state },
			deadLetters: {
				total: [...deadLetters.values()].reduce((sum, count) => sum + count, 0),
				byCause: Object.fromEntries(deadLetters),
			},
		}
	}
}

/** Returns the answers from the counters. `states`: the current state of every circuit. */
export function createSnapshot(
	metrics: MetricSet,
	states: Iterable<readonly [service: string, state: CircuitState]>,
): MetricsSnapshot {
	const total = new Sums()
	const services = new Map<string, Sums>()
	const at = (service = ''): readonly Sums[] => {
		const sums = services.get(service) ?? new Sums()
		services.set(service, sums)
		return [total, sums]
	}
	const each = (name: string, add: (sums: Sums, value: number, labels: readonly string[]) => void): void => {
		for (const { labels, value } of metrics.counter(name).series())
			for (const sums of at(labels[0])) add(sums, value, labels)
	}
	each('yaoki_calls_total', (sums, value) => {
		sums.calls += value
	})
	each('yaoki_retries_total', (sums, value) => {
		sums.retries += value
	})
	each('yaoki_retried_calls_total', (sums, value, [, result]) => {
		sums.retriedCalls += value
		if (result === 'success') sums.retriedSuccesses += value
	})
	const addTransition = (sums: Sums, value: number, labels: readonly string[]): void => {
		const [from, to] = labels.slice(-2)
		if (to === 'open') sums.opened += value
		if (to === 'open' && from === 'half-open') sums.reopened += value
	}
	each('yaoki_circuit_breaker_transitions_total', addTransition)
	each('yaoki_relay_transitions_total', (sums, value, labels) => {
		// Among thousands of endpoints some are always down.
		if (labels[1] !== ENDPOINT_PATTERN) addTransition(sums, value, labels)
	})
	each('yaoki_relay_dead_letters_total', ({ deadLetters }, value, [, , cause = '']) => {
		if (value > 0) deadLetters.set(cause, (deadLetters.get(cause) ?? 0) + value)
	})
	for (const [service, state] of states) {
		const label = toLabelValue(service)
		const isKnown = services.has(label) || services.size < metrics.maxSeries
		for (const sums of at(isKnown ? label : OTHER)) sums.addState(state)
	}
	return {
		total: total.toSnapshot(),
		services: Object.fromEntries([...services].map(([service, sums]) => [service, sums.toSnapshot()])),
	}
}
