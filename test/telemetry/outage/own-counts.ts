/** Counts by listeners of its own, so that Prometheus is not compared with the code that it reads. */
import type { YaokiEvent } from '../../../src/core/events/events.ts'
import type { RelayEvent } from '../../../src/outbox/index.ts'

interface Emitter<Event> {
	subscribe(listener: (event: Event) => void): () => void
}

/** How often circuits opened, and how often they fell back from half-open to open. */
interface Transitions {
	opened: number
	reopened: number
}

export class OwnCounts {
	calls = 0
	retries = 0
	retriedCalls = 0
	rescuedCalls = 0
	/** Circuits of policies and clients. */
	readonly circuits: Transitions = { opened: 0, reopened: 0 }
	/** Circuits of destinations. */
	readonly destinations: Transitions = { opened: 0, reopened: 0 }
	deadLetters = 0
	readonly #retriesOfCall = new Map<string, number>()

	countCalls(policy: Emitter<YaokiEvent>): void {
		policy.subscribe((event) => {
			if (event.type === 'retry_attempt') this.#addRetry(event.callId ?? '')
			if (event.type === 'call') this.#end(event.callId ?? '', event.outcome === 'success')
			if (event.type === 'state_change') count(this.circuits, event)
		})
	}

	countMessages(relay: Emitter<RelayEvent>): void {
		relay.subscribe((event) => {
			if (event.type === 'relay_dead_letter') this.deadLetters++
			if (event.type === 'relay_state_change') count(this.destinations, event)
		})
	}

	#addRetry(callId: string): void {
		this.#retriesOfCall.set(callId, (this.#retriesOfCall.get(callId) ?? 0) + 1)
	}

	#end(callId: string, isSuccess: boolean): void {
		const retries = this.#retriesOfCall.get(callId) ?? 0
		this.calls++
		this.retries += retries
		if (retries > 0) this.retriedCalls++
		if (retries > 0 && isSuccess) this.rescuedCalls++
	}
}

function count(circuits: Transitions, { from, to }: { readonly from: string; readonly to: string }): void {
	if (to !== 'open') return
	circuits.opened++
	if (from === 'half-open') circuits.reopened++
}
