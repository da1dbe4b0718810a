/**
 * This relay's view of a destination's circuit. Failures are counted here, by core's circuit; the open state
 * and the right to probe are shared by all relays through the store. Synchronous: methods return the change
 * that SharedBreaker has to write.
 */
import type { RandomSource } from '../../core/backoff/formula.ts'
import { Circuit } from '../../core/circuit-breaker/circuit.ts'
import { createOpenState, nextOpenState } from '../../core/circuit-breaker/open-state.ts'
import type { CircuitChange, CircuitOpenReason, DestinationCircuit } from '../store/rows.ts'
import type { DestinationFault } from './failure-decision.ts'
import { type BreakerSettings, readBreaker } from './options.ts'

/** What follows a permanent failure of the destination. Its message stays queued. */
export interface FaultDecision {
	/** Undefined if the circuit is already open. */
	readonly change: CircuitChange | undefined
	/** Ids of the messages that became dead letters before the cause was known. */
	readonly deadLetters: readonly string[]
}

/** Undefined if nothing has to be written. */
type Change = CircuitChange | undefined

const ALREADY_OPEN: FaultDecision = { change: undefined, deadLetters: [] }

interface RelayDefaults {
	readonly rampUpMs: number
	readonly runtime: RandomSource
}

export class LocalBreaker {
	readonly #destination: string
	readonly #settings: BreakerSettings
	readonly #countsFailures: boolean
	readonly #rampUpMs: number
	readonly #random: RandomSource
	readonly #circuit: Circuit
	/** The shared state, as last read from the store. */
	#shared: DestinationCircuit | undefined
	#sharedPauseUntil = -Infinity
	/** A pause that the store does not know yet; a store response that is in flight is older. */
	#localPauseUntil = -Infinity
	/** When the circuit last closed or a pause ended. */
	#closedAt = -Infinity
	/** Successful probes so far; undefined while this relay does not probe. */
	#probeSuccesses: number | undefined
	#probeUntil = -Infinity
	/** Why the circuit was open before this relay's probe. */
	#probedReason: CircuitOpenReason = 'circuit-open'
	/** Ids of the messages that failed permanently since the last success. */
	readonly #rejected = new Set<string>()

	/** Without settings this relay never opens the circuit, but still obeys it. */
	constructor(destination: string, settings: BreakerSettings | undefined, relay: RelayDefaults) {
		this.#destination = destination
		this.#settings = settings ?? readBreaker('circuitBreaker')
		this.#countsFailures = settings !== undefined
		this.#rampUpMs = relay.rampUpMs
		this.#random = relay.runtime
		this.#circuit = new Circuit(this.#settings)
	}

	get requiredProbes(): number {
		return this.#settings.successThreshold
	}

	get isProbing(): boolean {
		return this.#probeSuccesses !== undefined
	}

	get state(): DestinationCircuit['state'] {
		return this.#shared?.state ?? 'closed'
	}

	/** Until when this relay must not claim. */
	get pausedUntil(): number {
		return this.isProbing ? -Infinity : Math.max(this.#sharedPauseUntil, this.#localPauseUntil)
	}

	/** Until when no relay may claim. */
	get sharedPauseUntil(): number {
		return this.#sharedPauseUntil
	}

	shouldProbe(now: number): boolean {
		// A probe that has not finished in time ends here, so that another relay may probe.
		if (now >= this.#probeUntil) this.#probeSuccesses = undefined
		return this.state !== 'closed' && !this.isProbing && now >= this.pausedUntil
	}

	/** Results of deliveries that were started in another generation are ignored. */
	get generation(): number {
		return this.#circuit.generation
	}

	limit(concurrency: number, now: number): number {
		if (this.isProbing) return 1
		return rampedLimit(concurrency, now - this.#closedAt, this.#rampUpMs)
	}

	update(circuit: DestinationCircuit, now: number): void {
		const before = this.#shared
		// An outdated response.
		if (before && circuit.version < before.version) return
		// Another relay changed the circuit, which ends this relay's probe. A granted probe starts after this call.
		if (circuit.version !== before?.version) {
			this.#probeSuccesses = undefined
			this.#localPauseUntil = -Infinity
		}
		this.#shared = circuit
		this.#sharedPauseUntil = circuit.pausedForMs > 0 ? now + circuit.pausedForMs : -Infinity
		if (circuit.closedAgoMs !== null) this.#closedAt = now - circuit.closedAgoMs
		if (circuit.state === 'closed' && before && before.state !== 'closed') this.#circuit.reset()
	}

	/** Pauses this relay until the store knows about the pause. */
	pauseLocally(forMs: number, now: number): void {
		this.#localPauseUntil = Math.max(this.#localPauseUntil, now + forMs)
	}

	/** Returns the change by which this relay claims the right to probe. */
	requestProbe(forMs: number): CircuitChange {
		this.#probedReason = openReason(this.#shared?.reason)
		return this.#change('half-open', forMs, 'probe', this.#shared?.failedProbes, this.#shared?.delayMs)
	}

	/** Starts a granted probe in a new generation, because results of older deliveries are out of date. */
	startProbe(until: number): void {
		this.#probeSuccesses = 0
		this.#probeUntil = until
		this.#circuit.reset()
	}

	/** Returns true if this relay probes with this delivery. */
	isProbe({ generation }: { readonly generation: number }): boolean {
		return this.isProbing && generation === this.generation
	}

	/** Returns the change that lets another relay probe, because this one found no message. */
	cancelProbe(): CircuitChange {
		this.#probeSuccesses = undefined
		return this.#change('open', 0, this.#probedReason, this.#shared?.failedProbes, this.#shared?.delayMs)
	}

	recordSuccess(generation: number, now: number, durationMs: number): Change {
		if (this.#probeSuccesses !== undefined) {
			if (generation !== this.generation) return undefined
			this.#probeSuccesses++
			if (this.#probeSuccesses < this.#settings.successThreshold) return undefined
			this.#probeSuccesses = undefined
			return this.#change('closed', 0, null, 0, 0)
		}
		if (this.#countsFailures) this.#circuit.succeed(generation, now, durationMs, this.#random)
		return this.#openedChange(now)
	}

	recordFailure(generation: number, now: number, durationMs: number, retryAfterMs?: number): Change {
		if (this.#probeSuccesses !== undefined) {
			if (generation !== this.generation) return undefined
			return this.#failProbe('circuit-open', now, retryAfterMs)
		}
		if (this.#countsFailures) this.#circuit.fail(generation, now, durationMs, retryAfterMs, this.#random)
		return this.#openedChange(now)
	}

	/** A message was sent: the destination accepts messages. */
	recordSent(): void {
		if (this.#rejected.size > 0) this.#rejected.clear()
	}

	/**
	 * Records a permanent failure that the destination may have caused. Returns undefined if the message caused
	 * it, and becomes a dead letter. The destination is the cause of every rejected certificate or credential,
	 * and of other failures after `permanentThreshold` different messages without a success.
	 */
	recordFault(
		fault: DestinationFault,
		id: string,
		generation: number,
		now: number,
	): FaultDecision | undefined {
		if (!this.#countsFailures) return undefined
		// A delivery from before the circuit opened or closed is sent again under the new state.
		if (generation !== this.generation) return ALREADY_OPEN
		const reason = fault === 'rejected' ? 'permanent-failures' : fault
		if (this.isProbing) {
			// A destination that rejects one message works again, if its outage had another reason.
			if (fault === 'rejected' && this.#probedReason !== reason) return undefined
			return { change: this.#failProbe(reason, now), deadLetters: [] }
		}
		if (fault === 'rejected') {
			this.#rejected.add(id)
			if (this.#rejected.size < this.#settings.permanentThreshold) return undefined
			this.#rejected.delete(id)
		}
		if (this.state !== 'closed') return ALREADY_OPEN
		const deadLetters = fault === 'rejected' ? [...this.#rejected] : []
		this.#rejected.clear()
		const { until } = nextOpenState(this.#settings, undefined, now, undefined, this.#random)
		this.#circuit.reset()
		this.pauseLocally(until - now, now)
		return { change: this.#change('open', until - now, reason, 0, until - now), deadLetters }
	}

	#failProbe(reason: CircuitOpenReason, now: number, retryAfterMs?: number): CircuitChange {
		this.#probeSuccesses = undefined
		const before = createOpenState(0, this.#shared?.delayMs ?? 0, this.#shared?.failedProbes ?? 0)
		const next = nextOpenState(this.#settings, before, now, retryAfterMs, this.#random)
		return this.#change('open', next.until - now, reason, next.failedProbes, next.delayMs)
	}

	/** Returns the change to write if the circuit has just opened. */
	#openedChange(now: number): Change {
		if (this.#circuit.state !== 'open') return undefined
		const pausedForMs = this.#circuit.retryAfterMs(now)
		// From here on the shared state decides. Counting starts again when it is closed.
		this.#circuit.reset()
		this.pauseLocally(pausedForMs, now)
		return this.#change('open', pausedForMs, 'circuit-open', 0, pausedForMs)
	}

	#change(
		state: CircuitChange['state'],
		pausedForMs: number,
		reason: CircuitChange['reason'],
		failedProbes = 0,
		delayMs = 0,
	): CircuitChange {
		const destination = this.#destination
		const version = this.#shared?.version ?? 0
		return { state, reason, failedProbes, delayMs, destination, pausedForMs: Math.ceil(pausedForMs), version }
	}
}

/** Returns why the circuit is open. The reason before an older probe is not known any more. */
const openReason = (reason: DestinationCircuit['reason'] = null): CircuitOpenReason =>
	reason === null || reason === 'probe' || reason === 'retry-after' || reason === 'operator'
		? 'circuit-open'
		: reason

/**
 * Returns how many messages may be in flight `sinceMs` after the circuit closed: one at first, then
 * exponentially more, because a service that recovers has cold caches and a backlog from all its clients. All
 * relays count from the same moment, which the database provides.
 */
export function rampedLimit(concurrency: number, sinceMs: number, rampUpMs: number): number {
	if (sinceMs >= rampUpMs) return concurrency
	return Math.max(1, Math.floor(concurrency ** (sinceMs / rampUpMs)))
}
