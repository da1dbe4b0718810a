/** Shares circuits and pauses with all relays through the store, and emits their changes. */
import type { ErrorFacts } from '../../core/events/events.ts'
import { CANDIDATE_AFTER } from '../store/decisions/poison.ts'
import type { CircuitChange, DestinationCircuit } from '../store/rows.ts'
import type { DestinationState } from './destination-state.ts'
import type { RelayContext } from './relay-context.ts'
import type { Settler } from './settler.ts'

/** What this relay knows about the failure that opens a circuit. */
export interface OpeningDetails extends Partial<ErrorFacts> {
	readonly deadLetters?: readonly string[]
}

export class SharedBreaker {
	readonly #context: RelayContext
	readonly #settler: Settler
	readonly #writes = new Set<Promise<unknown>>()

	constructor(context: RelayContext, settler: Settler) {
		this.#context = context
		this.#settler = settler
	}

	/** Takes over a circuit that the store returned. */
	update(state: DestinationState, circuit: DestinationCircuit, opening: OpeningDetails = {}): void {
		const { breaker, scan } = state
		const now = this.#context.runtime.now()
		const from = breaker.state
		const wasPaused = breaker.sharedPauseUntil > now
		breaker.update(circuit, now)
		const isPaused = breaker.sharedPauseUntil > now
		if (from !== breaker.state || isPaused !== wasPaused) this.#emitChange(circuit, from, opening)
		const { pausedUntil } = breaker
		if (pausedUntil > now) {
			this.#settler.releaseQueued(state, 'paused')
			// Released messages are due when the pause ends, not one poll later.
			scan.expect(pausedUntil)
		} else if (breaker.state === 'closed' && (wasPaused || from !== 'closed')) scan.reset()
	}

	/** Writes a change in the background. `opening` is added to the event if the circuit opens. */
	apply(state: DestinationState, change: CircuitChange | undefined, opening?: OpeningDetails): void {
		if (change) this.#track(this.#change(state, change, opening))
	}

	/** Pauses the destination for all relays, because it returned Retry-After. */
	pause(state: DestinationState, forMs: number): void {
		const { runtime, store } = this.#context
		state.breaker.pauseLocally(forMs, runtime.now())
		this.#settler.releaseQueued(state, 'paused')
		const write = async () => {
			await store.pause(state.destination, Math.ceil(forMs), 'retry-after')
			for (const circuit of await store.circuits([state.destination])) this.update(state, circuit)
		}
		this.#track(this.#context.callStore('pause', write))
	}

	/** Tries to become the one relay that probes the destination, if it has a message to send. */
	async probe(state: DestinationState): Promise<void> {
		const { settings, runtime, store } = this.#context
		// The right to probe, and its return, would cost two writes per poll while there is nothing to send.
		const { destination, isOrdered } = state
		const isDue = () => store.hasClaimable(destination, isOrdered, CANDIDATE_AFTER)
		const hasDue = await this.#context.callStore('due', isDue)
		if (!hasDue) return
		// Every probe ends within this time. A crashed relay does not block probing for longer.
		const forMs = state.breaker.requiredProbes * state.settings.timeoutMs + settings.pollMs
		const until = runtime.now() + forMs
		if (await this.#change(state, state.breaker.requestProbe(forMs))) state.breaker.startProbe(until)
	}

	/** Reads the circuits of these destinations, which other relays may have changed. */
	async refresh(states: ReadonlyMap<string, DestinationState>): Promise<void> {
		const names = [...states.keys()]
		const { store } = this.#context
		for (const circuit of await this.#context.callStore('circuits', () => store.circuits(names))) {
			const state = states.get(circuit.destination)
			if (state) this.update(state, circuit)
		}
	}

	async flushAll(): Promise<void> {
		while (this.#writes.size > 0) await Promise.all(this.#writes)
	}

	async #change(state: DestinationState, change: CircuitChange, opening?: OpeningDetails): Promise<boolean> {
		const { store } = this.#context
		const { isApplied, circuit } = await this.#context.callStore('circuit', () => store.changeCircuit(change))
		this.update(state, circuit, opening)
		// Another relay's change was first, but concerns a Retry-After, or an earlier outage that is over.
		const isNewOutage =
			change.state === 'open' && change.reason !== 'retry-after' && change.failedProbes === 0
		if (!isApplied && isNewOutage && change.pausedForMs > 0 && circuit.state === 'closed')
			return this.#change(state, { ...change, version: circuit.version }, opening)
		return isApplied
	}

	#emitChange(circuit: DestinationCircuit, from: DestinationCircuit['state'], opening: OpeningDetails): void {
		const { state: to, destination, pausedForMs, reason } = circuit
		const details = { destination, pausedForMs, ...(reason === null ? {} : { reason }) }
		const facts = to === 'open' ? opening : {}
		if (from !== to)
			this.#context.emitter.emit({ type: 'relay_state_change', from, to, ...details, ...facts })
		else this.#context.emitter.emit({ type: pausedForMs > 0 ? 'relay_paused' : 'relay_resumed', ...details })
	}

	#track(write: Promise<unknown>): void {
		const end = (): boolean => this.#writes.delete(tracked)
		// It fails only if the store was abandoned; other relays detect the outage themselves.
		const tracked: Promise<unknown> = write.then(end, end)
		this.#writes.add(tracked)
	}
}
