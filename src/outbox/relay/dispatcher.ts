/**
 * Starts deliveries where slots are free, and handles their results. Destinations take turns, one message at a
 * time: the next free slot goes to the destination that has waited longest, whatever the length of its queue.
 */
import { TimeoutError } from '../../core/errors/errors.ts'
import { errorFacts } from '../../core/events/error-facts.ts'
import { addRetryAfterJitter } from '../../core/retry/decision.ts'
import { isUnprocessed } from '../../http/request/retry-safety.ts'
import { OutboxInProgressError } from '../destinations/destination.ts'
import type { DeadLetterCause } from '../message/message.ts'
import { toStoredError } from '../message/stored-error.ts'
import { isPoison } from '../store/decisions/poison.ts'
import type { Settlement } from '../store/rows.ts'
import { AttemptLog, LostAttempts } from './attempt-log.ts'
import {
	claimRef,
	type Delivery,
	invokeHandler,
	OutboxLeaseLostError,
	RelayStoppedError,
} from './delivery.ts'
import type { DestinationState, DestinationStates } from './destination-state.ts'
import {
	classifyFailure,
	countsAsFailure,
	type DestinationFault,
	decideFailure,
	findDestinationFault,
} from './failure-decision.ts'
import type { RelayContext } from './relay-context.ts'
import type { Settler } from './settler.ts'
import type { SharedBreaker } from './shared-breaker.ts'
import type { WakeSignal } from './wake-signal.ts'

/** Minimum delay if the retry budget is exhausted: `baseDelayMs: 0` would claim in a tight loop. */
const MIN_BUDGET_DELAY_MS = 100

/** Minimum delay of a message whose receiver still processes an earlier attempt. */
const MIN_IN_PROGRESS_MS = 1_000

export class Dispatcher {
	readonly #parts: Omit<RelayParts, 'dispatcher'>
	readonly #lostAttempts: LostAttempts
	inFlight = 0
	/** True while nothing may be started: a poison candidate runs alone, or the relay stops. */
	isPaused = false
	/** The next destination of the round robin. */
	#next = 0

	constructor(parts: Omit<RelayParts, 'dispatcher'>) {
		this.#parts = parts
		this.#lostAttempts = new LostAttempts(parts.context)
		parts.settler.onRunContinued = () => this.pump()
	}

	pump(): void {
		if (this.isPaused) return
		const states = [...this.#parts.states.byName.values()]
		const { maxConcurrentTotal } = this.#parts.context.settings
		let skipped = 0
		while (skipped < states.length && this.inFlight < maxConcurrentTotal) {
			const state = states[this.#next++ % states.length]
			skipped = state && this.#startNext(state, this.#now()) ? 0 : skipped + 1
		}
	}

	/** Starts this delivery, unless its message must not be sent or the retry budget is exhausted. */
	start(state: DestinationState, delivery: Delivery, now: number): void {
		const { row } = delivery
		const cause = this.#unsendableCause(delivery)
		if (cause) {
			const afterDeadLetter = state.settings.afterDeadLetter ?? 'skip'
			const dead = { type: 'dead', ...claimRef(row), cause, error: null, afterDeadLetter } as const
			this.#parts.settler.settle(state, delivery, { ...dead, refundAttempt: true }, 0)
			return
		}
		const { budget, baseDelayMs } = state.settings.retry
		if (budget && row.attempt > 1) {
			if (!budget.canRetry(now)) {
				const inMs = Math.ceil(Math.max(row.delayMs ?? baseDelayMs, MIN_BUDGET_DELAY_MS))
				this.#parts.settler.release(state, delivery, 'budget', inMs)
				return
			}
			budget.recordRetry(now)
		} else budget?.recordRequest(now)
		this.#run(state, delivery, now)
	}

	/**
	 * Abandons a handler that does not end although the relay stops. Its message is settled, so that no crash
	 * is counted, and is due now: the handler may still send it, which is a duplicate, as after a crash. A
	 * message of an ordered key keeps the rest of its lease: no later message of the key may be sent before it.
	 */
	abandon(state: DestinationState, delivery: Delivery): void {
		const isInOrder = state.isOrdered && delivery.row.key !== null
		const inMs = isInOrder ? Math.max(0, delivery.leaseUntil - this.#now()) : 0
		if (!delivery.isSettled) this.#postpone(state, delivery, inMs)
		// Its timeout would keep the process alive.
		delivery.list?.remove(delivery)
	}

	/** Handles a lease that has expired. A queued delivery is released, so that no crash is counted. */
	expireLease(state: DestinationState, delivery: Delivery): void {
		if (delivery.isSettled || state.inFlight.has(delivery)) {
			this.loseLease(state, delivery)
			return
		}
		state.queued = state.queued.filter((one) => one !== delivery)
		this.#parts.settler.release(state, delivery, 'lease-expired')
	}

	/** Aborts a delivery whose message another relay has or may have. */
	loseLease(state: DestinationState, delivery: Delivery): void {
		const { id: messageId, topic, destination, attempt: attempts } = delivery.row
		if (delivery.isSettled) return
		delivery.isSettled = true
		this.#lostAttempts.add(delivery)
		this.#parts.settler.releaseFollowers(state, delivery)
		delivery.abort(new OutboxLeaseLostError(messageId))
		delivery.list?.remove(delivery)
		state.queued = state.queued.filter((one) => one !== delivery)
		this.#parts.context.emitter.emit({ type: 'relay_lease_lost', messageId, topic, destination, attempts })
	}

	/** Settles a delivery as failed. It keeps its slot until its handler ends, which may still send. */
	readonly onTimeout = (delivery: Delivery): void => {
		const state = this.#parts.states.byName.get(delivery.row.destination)
		if (!state) return
		if (delivery.log?.recorder.isAccepted) {
			this.#onSuccess(state, delivery, this.#now(), state.settings.timeoutMs)
			delivery.abort(new TimeoutError(state.destination, state.settings.timeoutMs))
			return
		}
		const error = new TimeoutError(state.destination, state.settings.timeoutMs)
		delivery.abort(error)
		this.#onFailure(state, delivery, error)
	}

	#now(): number {
		return this.#parts.context.runtime.now()
	}

	#startNext(state: DestinationState, now: number): boolean {
		if (state.isVerifying) return false
		while (state.queued.length > 0 && state.capacity(now) > 0 && now >= state.breaker.pausedUntil) {
			const delivery = state.queued.at(-1)
			if (delivery && !delivery.isSettled && this.#parts.context.hasSlept(delivery.clockOffset)) {
				this.#verify(state)
				return false
			}
			state.queued.pop()
			if (!delivery || delivery.isSettled) continue
			if (now >= delivery.leaseUntil) this.expireLease(state, delivery)
			else {
				this.start(state, delivery, now)
				return true
			}
		}
		return false
	}

	/**
	 * Renews the leases of waiting messages after the host has slept. They are valid by the monotonic clock,
	 * which stood still, but the database may have given the messages to another relay. Such messages are not
	 * started.
	 */
	#verify(state: DestinationState): void {
		const { context } = this.#parts
		const { store, owner, settings, runtime } = context
		const waiting = [...state.queued, ...state.runs].filter(({ isSettled }) => !isSettled)
		const rows = waiting.map(({ row }) => row)
		const [startedAt, clockOffset] = [runtime.now(), context.clockOffset()]
		state.isVerifying = true
		context
			.callStoreOnce(() => store.renew(owner, settings.leaseMs, rows.map(claimRef)))
			.then((ids) => {
				const lost = new Set(ids)
				for (const delivery of waiting)
					if (lost.has(delivery.row.id)) this.loseLease(state, delivery)
					else {
						delivery.leaseUntil = startedAt + settings.leaseMs
						delivery.clockOffset = clockOffset
					}
				state.isVerifying = false
				this.pump()
			})
			.catch(() => {
				// The next poll tries again, until the leases end by the monotonic clock too.
				state.isVerifying = false
			})
	}

	#unsendableCause({ row }: Delivery): DeadLetterCause | undefined {
		if (isPoison(row.crashes, this.#parts.context.settings.maxCrashes)) return 'crashed'
		const isExpired = row.expiresAt !== null && row.expiresAt <= this.#parts.context.databaseNow()
		return isExpired ? 'expired' : undefined
	}

	#run(state: DestinationState, delivery: Delivery, startedAt: number): void {
		state.inFlight.add(delivery)
		this.inFlight++
		delivery.generation = state.breaker.generation
		const { attemptLog } = state.settings
		if (attemptLog) delivery.log = new AttemptLog(attemptLog, startedAt)
		state.timeouts().add(delivery, startedAt)
		const { emitter, settings } = this.#parts.context
		invokeHandler(state.settings.deliver, delivery, settings.name, emitter).then(
			() => {
				const now = this.#now()
				this.#onSuccess(state, delivery, now, now - startedAt)
				this.#onEnd(state, delivery, now)
			},
			(error: unknown) => {
				this.#onFailure(state, delivery, error)
				this.#onEnd(state, delivery, this.#now())
			},
		)
	}

	#onSuccess(state: DestinationState, delivery: Delivery, now: number, durationMs: number): void {
		if (delivery.isSettled) return
		state.settings.retry.budget?.recordOutcome(true)
		const { id, attempt, claimedAt, sequence } = delivery.row
		const sent: Settlement = { type: 'sent', id, attempt, claimedAt, sequence }
		this.#parts.settler.settle(state, delivery, sent, durationMs)
		state.breaker.recordSent()
		this.#parts.breaker.apply(state, state.breaker.recordSuccess(delivery.generation, now, durationMs))
	}

	#onFailure(state: DestinationState, delivery: Delivery, error: unknown): void {
		if (delivery.isSettled) return
		// The relay aborted the handler: neither the message nor its destination failed.
		if (delivery.isStoppedBy(error)) {
			this.#postpone(state, delivery, 0)
			return
		}
		delivery.error = error
		const { runtime, settings } = this.#parts.context
		const { maxRetryAfterMs } = settings
		const now = runtime.now()
		const durationMs = now - (delivery.startedAt ?? now)
		// The destination works, and the message is on its way: it neither fails nor uses an attempt.
		if (error instanceof OutboxInProgressError) {
			const askedMs = Math.max(MIN_IN_PROGRESS_MS, Math.min(error.retryAfterMs ?? 0, maxRetryAfterMs))
			const inMs = Math.round(addRetryAfterJitter(askedMs, runtime))
			this.#parts.settler.release(state, delivery, 'in-progress', inMs)
			this.#parts.breaker.apply(state, state.breaker.recordSuccess(delivery.generation, now, durationMs))
			return
		}
		const classification = classifyFailure(state.settings, error)
		state.settings.retry.budget?.recordOutcome(false)
		const context = { now: this.#parts.context.databaseNow(), maxRetryAfterMs, random: runtime }
		const settlement = decideFailure(delivery.row, error, classification, state.settings, context)
		const fault = findDestinationFault(state.settings, error, classification, settlement)
		if (fault && this.#keepQueued(state, delivery, fault)) return
		// Probes come early and often: one that did not reach the destination must not use an attempt.
		if (state.breaker.isProbe(delivery) && isUnprocessed(error))
			this.#parts.settler.release(state, delivery, 'paused')
		else this.#parts.settler.settle(state, delivery, settlement, durationMs)
		const { kind, retryAfterMs } = classification
		const pauseMs = kind === 'throttled' ? Math.min(retryAfterMs ?? 0, maxRetryAfterMs) : 0
		// A destination that returns Retry-After is not down: it is paused, and its circuit counts no failure.
		if (pauseMs > 0 && !state.breaker.isProbing) {
			this.#parts.breaker.pause(state, pauseMs)
			return
		}
		const { breaker } = state
		const change = countsAsFailure(state.settings, error, classification)
			? breaker.recordFailure(delivery.generation, now, durationMs, retryAfterMs)
			: breaker.recordSuccess(delivery.generation, now, durationMs)
		if (!change) return
		if (change.state === 'open') this.#parts.settler.releaseQueued(state, 'paused')
		// An opening circuit must not shorten the Retry-After.
		const pausedForMs = change.state === 'open' ? Math.max(change.pausedForMs, Math.ceil(pauseMs)) : 0
		this.#parts.breaker.apply(state, { ...change, pausedForMs })
	}

	/**
	 * If the destination caused a permanent failure, opens the circuit and returns the message to the queue.
	 * Returns false if the message caused it. The message is due after the others, so that the next probe is
	 * another message where the order of its key allows it.
	 */
	#keepQueued(state: DestinationState, delivery: Delivery, fault: DestinationFault): boolean {
		const { settler, breaker } = this.#parts
		const { row, generation, error } = delivery
		const decision = state.breaker.recordFault(fault, row.id, generation, this.#now())
		if (!decision) return false
		settler.release(state, delivery, 'paused', 1)
		const { change, deadLetters } = decision
		if (!change) return true
		settler.releaseQueued(state, 'paused')
		const opening = deadLetters.length > 0 ? { ...errorFacts(error), deadLetters } : errorFacts(error)
		breaker.apply(state, change, opening)
		return true
	}

	/** The message may have been sent, so the attempt of an aborted delivery counts, but never as the last. */
	#postpone(state: DestinationState, delivery: Delivery, inMs: number): void {
		const { row } = delivery
		delivery.error = new RelayStoppedError()
		const error = toStoredError(delivery.error)
		const retry = { type: 'retry', inMs: Math.ceil(inMs), delayMs: row.delayMs, error } as const
		this.#parts.settler.settle(state, delivery, { ...claimRef(row), ...retry }, 0)
	}

	/** `now` is given, because reading the clock takes a noticeable part of the time of a message. */
	#onEnd(state: DestinationState, delivery: Delivery, now: number): void {
		delivery.list?.remove(delivery)
		state.finish(delivery)
		const { maxConcurrentTotal } = this.#parts.context.settings
		const wasFull = this.inFlight-- >= maxConcurrentTotal
		// Other destinations wait for a slot only if none was free.
		if (wasFull) this.pump()
		else if (!this.isPaused && this.#startNext(state, now))
			// More than one if the capacity has grown, as it does after an outage.
			while (
				this.inFlight < maxConcurrentTotal &&
				state.capacity(now) > 0 &&
				this.#startNext(state, this.#now())
			);
		// There may be capacity to claim more.
		this.#parts.signal.wake()
	}
}

/** The parts of a running relay that its loops share. */
export interface RelayParts {
	readonly context: RelayContext
	readonly states: DestinationStates
	readonly settler: Settler
	readonly breaker: SharedBreaker
	readonly dispatcher: Dispatcher
	readonly signal: WakeSignal
}
