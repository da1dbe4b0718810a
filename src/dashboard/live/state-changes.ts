/** Since when circuits are in their states, from their events. Bounded: the oldest changes are forgotten. */
import type { CircuitState } from '../../core/events/events.ts'

const MAX_CHANGES = 10_000

/** Longer keys are not remembered, so that memory is bounded. */
const MAX_KEY_LENGTH = 500

export interface StateChange {
	readonly state: CircuitState
	/** When the circuit entered the state. */
	readonly at: number
	/** When it closed or, through probes that failed, when it ceased to be closed; undefined if that is unknown. */
	readonly since: number | undefined
}

export class StateChanges {
	readonly #changes = new Map<string, StateChange>()

	add(emitter: string, key: string | undefined, from: CircuitState, to: CircuitState, now: number): void {
		// A circuit without a key emits events with the key of the call.
		for (const name of new Set([nameOf(emitter, key), nameOf(emitter)])) {
			if (name.length > MAX_KEY_LENGTH) continue
			const before = this.#changes.get(name)
			const isProbe = [from, to].every((state) => state === 'open' || state === 'half-open')
			const isKnown = before?.state === from
			this.#changes.delete(name)
			this.#changes.set(name, {
				state: to,
				at: now,
				since: isProbe ? (isKnown ? before.since : undefined) : now,
			})
			const [oldest] = this.#changes.keys()
			if (this.#changes.size > MAX_CHANGES && oldest !== undefined) this.#changes.delete(oldest)
		}
	}

	/** Returns the change into the current state of a circuit; undefined if it was not observed. */
	find(emitter: string, key: string | null, state: CircuitState): StateChange | undefined {
		const change = this.#changes.get(nameOf(emitter, key ?? undefined))
		return change?.state === state ? change : undefined
	}
}

const nameOf = (emitter: string, key = ''): string => `${emitter}\n${key}`
