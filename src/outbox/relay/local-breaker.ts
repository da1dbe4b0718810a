/**
 * Whether a destination is left alone. Failures are counted here, by the same circuit as everywhere; that it is open is written down for
 * all relays, and so is who may try whether it is back. Synchronous: what is to be written is answered, and writing is for others.
 */
import type { RandomSource } from '../../core/backoff/jitter.ts'
import { Circuit } from '../../core/circuit-breaker/circuit.ts'
import { createOpenState, nextOpenState } from '../../core/circuit-breaker/open-state.ts'
import type { CircuitChange, DestinationCircuit } from '../store/rows.ts'
import { rampedLimit } from './ramp.ts'
import type { BreakerSettings } from './settings.ts'

export class LocalBreaker {
	readonly #destination: string
	readonly #settings: BreakerSettings
	readonly #isCounting: boolean
	readonly #rampUpMs: number
	readonly #circuit: Circuit
	#gate: DestinationCircuit | undefined
	/** What the store said. */
	#heldUntil = -Infinity
	/** What this relay knows ahead of the store: an answer that was on its way meanwhile is older than this. */
	#shutUntil = -Infinity
	/** When it was let through again. */
	#openedAt = -Infinity
	/** How many probes went well; undefined when this relay does not probe. */
	#probes: number | undefined
	#mayProbeUntil = -Infinity

	/** `isCounting`: does this relay open it? One that does not still heeds it. */
	constructor(destination: string, settings: BreakerSettings, isCounting: boolean, rampUpMs: number) {
		this.#destination = destination
		this.#settings = settings
		this.#isCounting = isCounting
		this.#rampUpMs = rampUpMs
		this.#circuit = new Circuit(settings)
	}

	/** How many probes it takes. */
	get probes(): number {
		return this.#settings.successThreshold
	}

	get isProbing(): boolean {
		return this.#probes !== undefined
	}

	get state(): DestinationCircuit['state'] {
		return this.#gate?.state ?? 'closed'
	}

	/** Until when nobody claims, as far as this relay knows. */
	get heldUntil(): number {
		return this.isProbing ? -Infinity : Math.max(this.#heldUntil, this.#shutUntil)
	}

	/** Until when the store said so to everybody. */
	get heldForAllUntil(): number {
		return this.#heldUntil
	}

	/** Is it time to see whether the other side is back? */
	shouldProbe(now: number): boolean {
		// Whoever has not come to an end in its time probes no longer: somebody else may.
		if (now >= this.#mayProbeUntil) this.#probes = undefined
		return this.state !== 'closed' && !this.isProbing && now >= this.heldUntil
	}

	/** What a delivery is given when it is started. */
	get ticket(): number {
		return this.#circuit.generation
	}

	/** How many may be in flight. */
	limit(concurrency: number, now: number): number {
		if (this.isProbing) return 1
		return rampedLimit(concurrency, now - this.#openedAt, this.#rampUpMs)
	}

	/** What the store says now. */
	see(gate: DestinationCircuit, now: number): void {
		const before = this.#gate
		// An older answer than what is known already.
		if (before && gate.version < before.version) return
		// Somebody has changed it: whoever probed does so no longer. Who has just asked to is told after this.
		if (gate.version !== before?.version) {
			this.#probes = undefined
			this.#shutUntil = -Infinity
		}
		this.#gate = gate
		this.#heldUntil = gate.pausedForMs > 0 ? now + gate.pausedForMs : -Infinity
		if (gate.closedAgoMs !== null) this.#openedAt = now - gate.closedAgoMs
		if (gate.state === 'closed' && before && before.state !== 'closed') this.#circuit.reset()
	}

	/** Nothing more is started here for so long, until the store has heard of it. */
	shut(forMs: number, now: number): void {
		this.#shutUntil = Math.max(this.#shutUntil, now + forMs)
	}

	/** This relay wants to be the one who probes, for at most so long. */
	askToProbe(forMs: number): CircuitChange {
		return this.#change('half-open', forMs, 'probe', this.#gate?.failedProbes, this.#gate?.delayMs)
	}

	/** It is the one, until then. What was started before says nothing about now: tickets are new. */
	beginProbe(until: number): void {
		this.#probes = 0
		this.#mayProbeUntil = until
		this.#circuit.reset()
	}

	/** There was nothing to probe with: the next who has something does. */
	endProbe(): CircuitChange {
		this.#probes = undefined
		return this.#change('open', 0, 'circuit-open', this.#gate?.failedProbes, this.#gate?.delayMs)
	}

	succeeded(
		ticket: number,
		now: number,
		durationMs: number,
		chance: RandomSource,
	): CircuitChange | undefined {
		if (this.#probes !== undefined) {
			if (ticket !== this.ticket) return undefined
			this.#probes++
			if (this.#probes < this.#settings.successThreshold) return undefined
			this.#probes = undefined
			return this.#change('closed', 0, null, 0, 0)
		}
		if (this.#isCounting) this.#circuit.succeed(ticket, now, durationMs, chance)
		return this.#opening(now)
	}

	failed(
		ticket: number,
		now: number,
		durationMs: number,
		retryAfterMs: number | undefined,
		chance: RandomSource,
	): CircuitChange | undefined {
		if (this.#probes !== undefined) {
			if (ticket !== this.ticket) return undefined
			this.#probes = undefined
			const before = createOpenState(0, this.#gate?.delayMs ?? 0, this.#gate?.failedProbes ?? 0)
			const { until, delayMs, failedProbes } = nextOpenState(
				this.#settings,
				before,
				now,
				retryAfterMs,
				chance,
			)
			return this.#change('open', until - now, 'circuit-open', failedProbes, delayMs)
		}
		if (this.#isCounting) this.#circuit.fail(ticket, now, durationMs, retryAfterMs, chance)
		return this.#opening(now)
	}

	/** The circuit has just opened: all relays are to know. */
	#opening(now: number): CircuitChange | undefined {
		if (this.#circuit.state !== 'open') return undefined
		const pausedForMs = this.#circuit.retryAfterMs(now)
		// From here on the store's state counts; this one begins anew when that is closed again.
		this.#circuit.reset()
		this.shut(pausedForMs, now)
		return this.#change('open', pausedForMs, 'circuit-open', 0, pausedForMs)
	}

	#change(
		state: CircuitChange['state'],
		pausedForMs: number,
		reason: CircuitChange['reason'],
		failedProbes = 0,
		delayMs = 0,
	): CircuitChange {
		return {
			...{ state, reason, failedProbes, delayMs },
			destination: this.#destination,
			pausedForMs: Math.ceil(pausedForMs),
			version: this.#gate?.version ?? 0,
		}
	}
}
