/** The circuits of one source, and what an operator does with them. */
import { isolate } from '../../core/circuit-breaker/isolation.ts'
import type { Observation, ObservedPolicy } from '../../core/observe/observation.ts'
import { invalidArgument } from '../../core/options/schema.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import type { CircuitRow } from '../contract.ts'
import { type Leaf, layerOf, leavesOf } from './policies.ts'
import { RejectionRate } from './rejection-rate.ts'
import type { ShownTexts } from './shown-texts.ts'
import { StateChanges } from './state-changes.ts'

/** A row, with what decides whether it is a problem. */
export interface ObservedCircuit {
	readonly row: CircuitRow
	/** When it entered its state, on the clock of the dashboard. */
	readonly enteredAt: number | undefined
}

type CircuitLeaf = Leaf & { readonly stats: { readonly state: CircuitRow['state'] } }

const isCircuit = (leaf: Leaf): leaf is CircuitLeaf => leaf.stats.state !== undefined

export class Circuits {
	readonly #source: string
	readonly #members: Pick<Observation, 'members'>
	readonly #runtime: Runtime
	readonly #texts: ShownTexts
	readonly #changes: StateChanges
	readonly #ids = new WeakMap<ObservedPolicy, string>()
	#count = 0
	readonly #rates = new WeakMap<ObservedPolicy, RejectionRate>()
	/** The text of the error of an open circuit, which does not change. */
	readonly #errors = new WeakMap<object, string>()
	readonly #isolated = new Map<ObservedPolicy, () => void>()

	constructor(source: string, members: Pick<Observation, 'members'>, runtime: Runtime, texts: ShownTexts) {
		this.#source = source
		this.#members = members
		this.#runtime = runtime
		this.#texts = texts
		this.#changes = new StateChanges(() => runtime.now())
	}

	/** Remembers since when a circuit is in its state. Returns a function that ends this. */
	watch(policy: ObservedPolicy): () => void {
		const { circuit } = layerOf(policy)
		return circuit ? this.#changes.watch(circuit) : () => {}
	}

	/** Returns the first rows. `findError` returns the last error of the calls with a key. */
	rows(
		leaves: readonly Leaf[],
		limit: number,
		findError: (key: string | null) => string | null,
	): ObservedCircuit[] {
		return leaves
			.filter(isCircuit)
			.sort(byUrgency)
			.slice(0, limit)
			.map((leaf) => this.#row(leaf, findError))
	}

	isolate(id: string): boolean {
		const { policy, layer } = this.#find(id)
		if (this.#isolated.has(policy)) return false
		this.#isolated.set(policy, isolatePolicy(policy, layer, this.#runtime))
		return true
	}

	/** Releases what this dashboard has isolated. Returns false if it has not isolated the circuit. */
	release(id: string): boolean {
		const { policy } = this.#find(id)
		const release = this.#isolated.get(policy)
		this.#isolated.delete(policy)
		release?.()
		return release !== undefined
	}

	reset(id: string): void {
		this.#find(id).layer.circuit?.reset()
	}

	releaseAll(): void {
		const releases = [...this.#isolated.values()]
		this.#isolated.clear()
		for (const release of releases) release()
	}

	#find(id: string): Leaf {
		for (const leaf of leavesOf(this.#members))
			if (isCircuit(leaf) && this.#ids.get(leaf.policy) === id) return leaf
		// An isolated circuit of a client may have lost its place to other origins.
		return invalidArgument('circuit', id, `the id of a circuit of ${this.#source}`)
	}

	#row(leaf: CircuitLeaf, findError: (key: string | null) => string | null): ObservedCircuit {
		const { policy, layer, stats } = leaf
		const now = this.#runtime.now()
		const { state, failureCount: failures = 0, successCount = 0, rejectedCount = 0, retryAfterMs = 0 } = stats
		const calls = failures + successCount
		const change = layer.circuit && this.#changes.find(layer.circuit)
		const sinceMs = change?.since === undefined ? null : now - change.since
		const key = leaf.key === null ? null : this.#texts.text(leaf.key, 'key')
		const isProbing = state === 'open' || state === 'half-open'
		const row: CircuitRow = {
			id: this.#idOf(policy),
			source: this.#source,
			name: this.#texts.text(policy.name, 'emitter'),
			key,
			state,
			isShadow: layer.settings?.shadow === true,
			calls,
			failures,
			errorRate: calls > 0 ? failures / calls : null,
			rejectedPerSecond: state === 'closed' ? 0 : this.#rateOf(policy).read(rejectedCount, now, sinceMs),
			sinceMs,
			probeInMs: isProbing ? Math.ceil(retryAfterMs) : null,
			lastError: this.#openingError(leaf) ?? (failures > 0 ? findError(layer.key ? leaf.key : null) : null),
			isIsolatedHere: this.#isolated.has(policy),
		}
		return { row, enteredAt: change?.at }
	}

	/** The error that opened the circuit, also behind an isolation. */
	#openingError({ layer }: Leaf): string | null {
		const { openState } = layer.circuit ?? {}
		const options = openState?.cause ?? openState?.isolation?.openState?.cause
		if (!options) return null
		const known = this.#errors.get(options) ?? this.#texts.error(options.cause)
		this.#errors.set(options, known)
		return known
	}

	#idOf(policy: ObservedPolicy): string {
		const id = this.#ids.get(policy) ?? String(++this.#count)
		this.#ids.set(policy, id)
		return id
	}

	#rateOf(policy: ObservedPolicy): RejectionRate {
		const rate = this.#rates.get(policy) ?? new RejectionRate()
		this.#rates.set(policy, rate)
		return rate
	}
}

/** Not closed first: an open circuit soon has no calls in its window. */
function byUrgency({ stats: a }: Leaf, { stats: b }: Leaf): number {
	const { failureCount: failuresA = 0, successCount: successesA = 0 } = a
	const { failureCount: failuresB = 0, successCount: successesB = 0 } = b
	return (
		Number(a.state === 'closed') - Number(b.state === 'closed') ||
		failuresB - failuresA ||
		successesB - successesA
	)
}

/** The breaker of a `resilientFetch` has no methods for programs, and is isolated like any other. */
function isolatePolicy(policy: ObservedPolicy, { circuit }: Leaf['layer'], runtime: Runtime): () => void {
	const { env } = policy as { readonly env?: { readonly runtime: Runtime } }
	const clock = env?.runtime ?? runtime
	return circuit ? isolate(circuit, clock.now(), clock) : () => {}
}
