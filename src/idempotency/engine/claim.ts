/**
 * The right to run the handler for one key, as long as the lease lasts. The lease is extended while the
 * handler runs. If it is lost, because the process stalled or the store was unreachable for too long, another
 * request may run: the signal is aborted, and the store rejects every later write of this claim.
 */
import type { Jsonified } from '../../core/json/jsonified.ts'
import type { IdempotencyIdentity } from '../key/identity.ts'
import { sha256 } from '../key/sha256.ts'
import type { IdempotencyClaimRef, StoredResponse, StoredSteps } from '../store/store.ts'
import { IdempotencyLeaseLostError, stepNotJsonError } from './errors.ts'
import type { ConflictReason } from './events.ts'
import type { IdempotencySettings } from './options.ts'

/** Passed to the function of a step. */
export interface StepContext {
	/**
	 * The same in every run of this key: pass it to the service that the step calls, so that a step which was
	 * not stored has no second effect.
	 */
	readonly idempotencyKey: string
}

type StepFunction = (context: StepContext) => unknown

/** The result of a step that JSON cannot hold. A later run fails instead of repeating the step's effect. */
const NOT_JSON = '{"isNotJson":true}'

/** The value is a member of an object, because undefined is not JSON. */
export function encodeStepValue(value: unknown): string {
	try {
		return JSON.stringify({ value })
	} catch {
		return NOT_JSON
	}
}

export function decodeStepValue(name: string, text: string): unknown {
	if (text === NOT_JSON) throw stepNotJsonError(name)
	return JSON.parse(text).value
}

/** What a claim does with the store. */
export interface ClaimWrites {
	heartbeat(claim: IdempotencyClaim): Promise<boolean>
	saveStep(claim: IdempotencyClaim, name: string, value: string): Promise<boolean>
	onLost(claim: IdempotencyClaim): void
	/** Whether the key has completed, in a transaction of the user. */
	isCompleted(claim: IdempotencyClaim): Promise<boolean>
	/** The user has committed a transaction that completed the key. */
	onCommitted(claim: IdempotencyClaim): void
}

/** The settings of an engine that a claim needs. */
type ClaimSettings = Pick<IdempotencySettings<unknown, never>, 'leaseMs' | 'maxRunMs' | 'runtime'>

/** A lease is extended this many times within its length, so that one failed heartbeat does not lose it. */
export const HEARTBEATS_PER_LEASE = 3

/** A timer that is late by more than this share of the lease means that the process has stalled. */
const MAX_TIMER_DELAY = 0.1

export class IdempotencyClaim {
	/** The store gets only this hash and token; the identity contains the principal and the key themselves. */
	readonly ref: IdempotencyClaimRef
	readonly identity: IdempotencyIdentity
	/** @internal */
	readonly fingerprint: string
	readonly #steps: Map<string, string>
	readonly #writes: ClaimWrites
	readonly #settings: ClaimSettings
	readonly #startedAt: number
	/** When the lease ends without a heartbeat, by the process's clock. Never later than in the store. */
	#leaseUntil: number
	/** Steps whose function runs. */
	readonly #runningSteps = new Map<string, Promise<string>>()
	#cancelHeartbeat: (() => void) | undefined
	/** The end of the lease has its own timer, because a heartbeat can hang until then. */
	#cancelLeaseEnd: (() => void) | undefined
	#controller: AbortController | undefined
	#isBeating = false
	#isStoring = false
	/** The number of the response that was written in a transaction of the user. 0: none, or rolled back. */
	#pendingCommit = 0
	#commits = 0
	#hasEnded = false
	#isLost = false

	/** `claimedAt` is the time before the store was asked. */
	constructor(
		ref: IdempotencyClaimRef,
		identity: IdempotencyIdentity,
		fingerprint: string,
		steps: StoredSteps,
		writes: ClaimWrites,
		settings: ClaimSettings,
		claimedAt: number,
	) {
		this.ref = ref
		this.identity = identity
		this.fingerprint = fingerprint
		this.#steps = new Map(Object.entries(steps))
		this.#writes = writes
		this.#settings = settings
		this.#startedAt = claimedAt
		this.#leaseUntil = claimedAt + settings.leaseMs
		this.#startTimers()
	}

	/** True if an earlier run of this key has stored steps. */
	get hasSteps(): boolean {
		return this.#steps.size > 0
	}

	/** True after `complete` or `release`. */
	get hasEnded(): boolean {
		return this.#hasEnded
	}

	/** Aborted when the lease is lost. */
	get signal(): AbortSignal {
		this.#controller ??= new AbortController()
		if (this.#isLost && !this.#controller.signal.aborted)
			this.#controller.abort(new IdempotencyLeaseLostError())
		return this.#controller.signal
	}

	/**
	 * Runs a part of the handler once per key: its result is stored as JSON, and a later run of the same key
	 * returns it without calling `fn`. The first run returns what was stored too, so that a handler gets the
	 * same in both.
	 */
	async step<T>(name: string, fn: (context: StepContext) => T | Promise<T>): Promise<Jsonified<T>> {
		const stored = this.#steps.get(name) ?? (await this.#runOnce(name, fn))
		return decodeStepValue(name, stored) as Jsonified<T>
	}

	/** Concurrent steps with one name share a run. */
	async #runOnce(name: string, fn: StepFunction): Promise<string> {
		const running = this.#runningSteps.get(name)
		if (running !== undefined) return running
		// Another request may run the step.
		if (this.#isLost) throw new IdempotencyLeaseLostError()
		const run = this.#runStep(name, fn)
		this.#runningSteps.set(name, run)
		try {
			return await run
		} finally {
			this.#runningSteps.delete(name)
		}
	}

	async #runStep(name: string, fn: StepFunction): Promise<string> {
		const idempotencyKey = await sha256(JSON.stringify([this.ref.id, name]))
		const text = encodeStepValue(await fn({ idempotencyKey }))
		if (!(await this.#writes.saveStep(this, name, text))) throw new IdempotencyLeaseLostError()
		this.#steps.set(name, text)
		return text
	}

	/** Stops the heartbeat. The claim must have been completed or released. */
	end(): void {
		this.#hasEnded = true
		this.#cancelTimers()
	}

	/** @internal When the claim is no longer extended, by the process's clock. */
	get runUntil(): number {
		return this.#startedAt + this.#settings.maxRunMs
	}

	/**
	 * Continues the heartbeat: the transaction that would have ended the claim has not committed, or
	 * (`isStoring`) the store has not confirmed the response.
	 */
	resume(isStoring = false): void {
		this.#hasEnded = false
		this.#isStoring = isStoring
		if (this.#isLost) return
		const { leaseMs, runtime } = this.#settings
		const sinceHeartbeatMs = runtime.now() - (this.#leaseUntil - leaseMs)
		this.#startTimers(Math.max(0, leaseMs / HEARTBEATS_PER_LEASE - sinceHeartbeatMs))
	}

	/** True if the response was written in a transaction of the user, which may be committed or not. */
	get isAwaitingCommit(): boolean {
		return this.#pendingCommit > 0
	}

	/** @internal True for a step that cannot be stored: the user's transaction has written the response. */
	isBlocked(step: string): boolean {
		return this.isAwaitingCommit && !this.#steps.has(step)
	}

	/**
	 * Pauses the heartbeat, because it would wait for the user's transaction: no other request can take over
	 * the key while that is open. Before the lease ends, a heartbeat asks what has happened. Returns a function
	 * to call if nothing was written.
	 */
	awaitCommit(): () => void {
		const before = this.#pendingCommit
		this.#pendingCommit = ++this.#commits
		if (this.#isLost) return () => {}
		this.#cancelTimers()
		const { leaseMs, runtime } = this.#settings
		const leftMs = this.#leaseUntil - runtime.now()
		this.#schedule(Math.max(0, leftMs - leaseMs / HEARTBEATS_PER_LEASE))
		return () => {
			if (before > 0 || this.#hasEnded) return
			this.#pendingCommit = 0
			this.#cancelTimers()
			this.resume()
		}
	}

	/** Asks whether the user has committed: the heartbeat was rejected, or the claim may no longer be extended. */
	async #settleCommit(): Promise<void> {
		let isCompleted: boolean
		try {
			isCompleted = await this.#writes.isCompleted(this)
		} catch {
			return this.#schedule()
		}
		if (this.#hasEnded) return
		if (!isCompleted) return this.#lose()
		this.end()
		this.#writes.onCommitted(this)
	}

	#cancelTimers(): void {
		this.#cancelHeartbeat?.()
		this.#cancelLeaseEnd?.()
	}

	#startTimers(heartbeatMs?: number): void {
		const { runtime } = this.#settings
		this.#schedule(heartbeatMs)
		this.#cancelLeaseEnd?.()
		const leftMs = Math.max(0, this.#leaseUntil - runtime.now())
		this.#cancelLeaseEnd = runtime.setTimer(leftMs, () => this.#onLeaseEnd(), 'housekeeping')
	}

	/** The lease ended without a heartbeat. After a stall, only the store knows who has the key. */
	#onLeaseEnd(): void {
		const { leaseMs, runtime } = this.#settings
		const now = runtime.now()
		const hasStalled = now - this.#leaseUntil > leaseMs * MAX_TIMER_DELAY
		if (!hasStalled || !this.#mayExtend(now)) this.#lose()
		else if (!this.#isBeating) {
			this.#cancelHeartbeat?.()
			void this.#beat()
		}
	}

	#mayExtend(now: number): boolean {
		return now < this.runUntil
	}

	#schedule(ms = this.#settings.leaseMs / HEARTBEATS_PER_LEASE): void {
		this.#cancelHeartbeat = this.#settings.runtime.setTimer(ms, () => void this.#beat(), 'housekeeping')
	}

	async #beat(): Promise<void> {
		const { leaseMs, runtime } = this.#settings
		const startedAt = runtime.now()
		const pendingCommit = this.#pendingCommit
		if (!this.#mayExtend(startedAt)) return pendingCommit > 0 ? this.#settleCommit() : undefined
		let isHeld = true
		let hasFailed = false
		this.#isBeating = true
		try {
			isHeld = await this.#writes.heartbeat(this)
			if (isHeld) this.#leaseUntil = startedAt + leaseMs
		} catch {
			// The next heartbeat may succeed before the lease ends.
			hasFailed = true
		}
		this.#isBeating = false
		if (this.#hasEnded || this.#isLost) return
		// The store may have completed the key without having confirmed it. The next attempt to store the
		// response says what has happened.
		if (!isHeld && this.#isStoring) return this.#cancelTimers()
		// The response was written meanwhile, and another timer is set.
		if (this.#pendingCommit !== pendingCommit) return
		if (pendingCommit > 0) {
			if (hasFailed) return this.#schedule()
			if (!isHeld) return this.#settleCommit()
			// The store accepts heartbeats, so the transaction has been rolled back.
			this.#pendingCommit = 0
		}
		const now = runtime.now()
		const isOver = now >= this.#leaseUntil
		if (!isHeld || (isOver && (hasFailed || !this.#mayExtend(now)))) return this.#lose()
		// The process stalled after it had sent the heartbeat.
		if (isOver) return this.#beat()
		this.#startTimers()
	}

	#lose(): void {
		this.#cancelTimers()
		this.#isLost = true
		this.#controller?.abort(new IdempotencyLeaseLostError())
		this.#writes.onLost(this)
	}
}

export interface BeginOptions {
	/** Aborted when the client has left: a request that waits for another one stops. */
	readonly signal?: AbortSignal | undefined
}

/** What happens to a request whose key is claimed. */
export type BeginResult =
	| { readonly kind: 'run'; readonly claim: IdempotencyClaim }
	| { readonly kind: 'replay'; readonly response: StoredResponse }
	/** If `retryAfterMs` is undefined, a repetition does not help. */
	| { readonly kind: 'conflict'; readonly reason: ConflictReason; readonly retryAfterMs?: number | undefined }
	| { readonly kind: 'mismatch' }
