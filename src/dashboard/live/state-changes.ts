/** Since when circuits are in their states. A circuit notifies of its changes, which costs nothing per call. */
import type { Circuit } from '../../core/circuit-breaker/circuit.ts'
import type { CircuitState } from '../../core/events/events.ts'

export interface StateChange {
	readonly state: CircuitState
	/** When the circuit entered the state. */
	readonly at: number
	/** When it closed or, through probes that failed, when it ceased to be closed; undefined if that is unknown. */
	readonly since: number | undefined
}

const isProbing = (state: CircuitState): boolean => state === 'open' || state === 'half-open'

export class StateChanges {
	readonly #changes = new WeakMap<Circuit, StateChange>()
	/** A policy may be a part of several pipelines. */
	readonly #watched = new WeakSet<Circuit>()
	readonly #now: () => number

	constructor(now: () => number) {
		this.#now = now
	}

	/** Observes a circuit beside its own listener. Returns a function that ends this. */
	watch(circuit: Circuit): () => void {
		if (this.#watched.has(circuit)) return () => {}
		this.#watched.add(circuit)
		const { listener: own } = circuit
		let isWatched = true
		const watching = {
			onChange: (from: CircuitState, to: CircuitState) => {
				if (isWatched) this.#add(circuit, from, to)
				own?.onChange(from, to)
			},
		}
		circuit.listener = watching
		return () => {
			isWatched = false
			this.#watched.delete(circuit)
			// Another dashboard may have put a listener around this one.
			if (circuit.listener === watching) circuit.listener = own
		}
	}

	/** Returns the change into the current state; undefined if it was not observed. */
	find(circuit: Circuit): StateChange | undefined {
		const change = this.#changes.get(circuit)
		return change?.state === circuit.state ? change : undefined
	}

	#add(circuit: Circuit, from: CircuitState, to: CircuitState): void {
		const before = this.#changes.get(circuit)
		const now = this.#now()
		const isSameOutage = isProbing(from) && isProbing(to)
		const since = before?.state === from ? before.since : undefined
		this.#changes.set(circuit, { state: to, at: now, since: isSameOutage ? since : now })
	}
}
