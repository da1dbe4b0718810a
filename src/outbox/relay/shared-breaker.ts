/** Writes down for all relays that a destination is left alone, or let through again, and tells of it. */
import type { CircuitChange, DestinationCircuit } from '../store/rows.ts'
import type { DestinationState } from './destination-state.ts'
import type { RelayContext } from './relay-context.ts'

export class SharedBreaker {
	readonly #context: RelayContext
	/** Told when nothing more may be started in a lane. */
	readonly #onShut: (lane: DestinationState) => void
	readonly #underWay = new Set<Promise<unknown>>()

	constructor(context: RelayContext, onShut: (lane: DestinationState) => void) {
		this.#context = context
		this.#onShut = onShut
	}

	/** What the store told of gates by the way. */
	see(lane: DestinationState, gate: DestinationCircuit): void {
		const now = this.#context.runtime.now()
		const from = lane.gate.state
		const wasHeld = lane.gate.heldForAllUntil > now
		lane.gate.see(gate, now)
		const isHeld = lane.gate.heldForAllUntil > now
		if (from !== lane.gate.state || isHeld !== wasHeld) {
			const { destination, state: to, pausedForMs, reason } = gate
			this.#context.tell({
				...{ type: 'gate_change', destination, from, to, pausedForMs },
				...(reason === null ? {} : { reason }),
			})
		}
		const { heldUntil } = lane.gate
		if (heldUntil > now) {
			this.#onShut(lane)
			// What is given back is due as it was, and not one poll later.
			lane.lookout.expect(heldUntil)
		} else if (lane.gate.state === 'closed' && (wasHeld || from !== 'closed')) lane.lookout.reset()
	}

	/** Makes a change; nobody waits for it. */
	turn(lane: DestinationState, change: CircuitChange | undefined): void {
		if (change) this.#keep(this.#turn(lane, change))
	}

	/** The other side asked to be left alone. */
	hold(lane: DestinationState, forMs: number): void {
		const { runtime, store } = this.#context
		lane.gate.shut(forMs, runtime.now())
		this.#onShut(lane)
		this.#keep(
			this.#context.ask('hold', async () => {
				await store.pause(lane.destination, Math.ceil(forMs), 'retry-after')
				for (const gate of await store.circuits([lane.destination])) this.see(lane, gate)
			}),
		)
	}

	/** Tries to be the one relay that sees whether the other side is back. */
	async probe(lane: DestinationState): Promise<void> {
		// Until a probe must have ended, one that hangs and one of a relay that died.
		const { settings, runtime } = this.#context
		const forMs = lane.gate.probes * lane.settings.timeoutMs + settings.pollMs
		const until = runtime.now() + forMs
		if (await this.#turn(lane, lane.gate.askToProbe(forMs))) lane.gate.beginProbe(until)
	}

	/** Looks at the gates of these lanes again: another relay may have opened one before its time. */
	async refresh(lanes: ReadonlyMap<string, DestinationState>): Promise<void> {
		const names = [...lanes.keys()]
		for (const gate of await this.#context.ask('gates', () => this.#context.store.circuits(names))) {
			const lane = lanes.get(gate.destination)
			if (lane) this.see(lane, gate)
		}
	}

	/** Resolves when all that was to be written is. */
	async written(): Promise<void> {
		while (this.#underWay.size > 0) await Promise.all(this.#underWay)
	}

	async #turn(lane: DestinationState, change: CircuitChange): Promise<boolean> {
		const { isApplied, circuit: gate } = await this.#context.ask('gate', () =>
			this.#context.store.changeCircuit(change),
		)
		this.see(lane, gate)
		// Somebody was first, with something that says nothing about this: a Retry-After, or an outage that is over.
		const isNews = change.state === 'open' && change.reason === 'circuit-open' && change.failedProbes === 0
		if (!isApplied && isNews && change.pausedForMs > 0 && gate.state === 'closed')
			return this.#turn(lane, { ...change, version: gate.version })
		return isApplied
	}

	#keep(work: Promise<unknown>): void {
		const kept = work
			.catch(() => {
				// The relay gave up on its database; other relays find out by themselves.
			})
			.finally(() => this.#underWay.delete(kept))
		this.#underWay.add(kept)
	}
}
