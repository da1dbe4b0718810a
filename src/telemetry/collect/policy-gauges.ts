/**
 * Reads the gauges of policies from their `stats`. Policies are recognized by the fields of their statistics,
 * because they may come from another copy of the package.
 */
import type { Budget } from '../../core/budget/budget.ts'
import type { CircuitState } from '../../core/events/events.ts'
import type { ObservedPolicy } from '../../core/observe/observation.ts'
import type { ObservedSource } from '../observe/exporter.ts'
import type { GaugeReading } from './gauge-values.ts'

/** A scrape reads this many policies of a source, and further circuits only if they are not closed. */
const MAX_POLICIES = 10_000

/** A single policy and the service that it belongs to. */
type ServicePolicy = readonly [service: string, policy: ObservedPolicy]

/** The statistics of all policies that have some; each policy has only part of the fields. */
interface PolicyStats {
	readonly state?: CircuitState
	readonly concurrent?: number
	readonly queued?: number
	readonly maxConcurrent?: number
	readonly available?: number
	readonly rejectProbability?: number
}

const STATES: readonly CircuitState[] = ['closed', 'open', 'half-open', 'isolated']

/** Returns the value of a state in gauges: isolated counts as open. */
export const toStateValue = (state: CircuitState): number =>
	state === 'closed' ? 0 : state === 'half-open' ? 2 : 1

function* circuitGauges(service: string, state: CircuitState, isShadow: boolean): Generator<GaugeReading> {
	// A circuit in shadow mode rejects no call, and must raise no alert.
	if (!isShadow) {
		yield ['circuit_breaker_state', [service], toStateValue(state)]
		yield ['yaoki_circuit_breaker_isolated', [service], state === 'isolated' ? 1 : 0]
	}
	for (const other of STATES) yield ['yaoki_circuit_breakers', [service, other], state === other ? 1 : 0]
}

/** Returns the gauges of all policies of a source. Throws what their `stats` throw. */
export function* policyGauges(source: ObservedSource): Generator<GaugeReading> {
	let skipped = 0
	const skip = () => {
		skipped++
	}
	for (const [service, policy] of policiesOf(source, skip)) {
		const { state, concurrent, queued, maxConcurrent, available, rejectProbability } = statsOf(policy)
		if (state !== undefined) yield* circuitGauges(service, state, settingsOf(policy).shadow === true)
		if (maxConcurrent !== undefined) {
			yield ['yaoki_bulkhead_concurrent_calls', [service], concurrent ?? 0]
			yield ['yaoki_bulkhead_queued_calls', [service], queued ?? 0]
			yield ['yaoki_bulkhead_max_concurrent_calls', [service], maxConcurrent]
		}
		if (available !== undefined) yield ['yaoki_rate_limiter_available_tokens', [service], available]
		if (rejectProbability !== undefined) yield ['yaoki_throttle_reject_ratio', [service], rejectProbability]
		const { budget } = settingsOf(policy)
		if (budget) yield ['yaoki_retry_budget_available_retries', [service], budget.available()]
	}
	if (source.members) yield ['yaoki_telemetry_skipped_policies', [source.name], skipped]
}

/** Returns the state of every circuit of a source, with its service. */
export function* circuitStates(source: ObservedSource): Generator<readonly [string, CircuitState]> {
	for (const [service, policy] of policiesOf(source)) {
		const { state } = statsOf(policy)
		if (state !== undefined) yield [service, state]
	}
}

/** Yields every policy of a source once, also those inside `keyed`. Calls `skip` for what it leaves out. */
function* policiesOf(source: ObservedSource, skip?: () => void): Generator<ServicePolicy> {
	const seen = new Set<ObservedPolicy>()
	for (const [key, policy] of source.members?.() ?? [])
		for (const one of leavesOf(source, policy, key)) {
			// A bulkhead may be shared by several pipelines of one source.
			const [, leaf] = one
			if (seen.has(leaf)) continue
			// A circuit that is not closed rejects calls or probes.
			const isRead = seen.size < MAX_POLICIES || (statsOf(leaf).state ?? 'closed') !== 'closed'
			if (isRead) {
				seen.add(leaf)
				yield one
			} else skip?.()
		}
}

function* leavesOf(source: ObservedSource, policy: ObservedPolicy, key: string): Generator<ServicePolicy> {
	const service = source.serviceOf({ type: 'call', emitter: policy.name, key })
	for (const leaf of policy.leaves()) {
		const { entries } = leaf as { entries?(): Iterable<readonly [string, ObservedPolicy]> }
		if (typeof entries !== 'function') yield [service, leaf]
		else for (const [inner, one] of entries.call(leaf)) yield* leavesOf(source, one, inner)
	}
}

function statsOf(policy: ObservedPolicy): PolicyStats {
	const { stats } = policy as { readonly stats?: unknown }
	return typeof stats === 'object' && stats !== null ? stats : {}
}

interface LayerSettings {
	readonly budget?: Budget
	readonly shadow?: boolean
}

/** Reads the settings of the layer. Getters in the policies would be in every bundle. */
function settingsOf(policy: ObservedPolicy): LayerSettings {
	const { layer } = policy as unknown as { readonly layer?: { readonly settings?: LayerSettings } }
	return layer?.settings ?? {}
}
