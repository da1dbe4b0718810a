/**
 * Starts deliveries where slots are free, and handles their results. Destinations take turns, one message at a
 * time: the next free slot goes to the destination that has waited longest, whatever the length of its queue.
 */
import { TimeoutError } from '../../core/errors/errors.ts'
import { addRetryAfterJitter } from '../../core/retry/decision.ts'
import { isUnprocessed } from '../../http/request/retry-safety.ts'
import type { BatchSettings } from '../destinations/batch-destination.ts'
import type { BatchFates } from '../destinations/batch-report.ts'
import { isOutboxInProgress } from '../destinations/destination.ts'
import type { DeadLetterCause, Message } from '../message/message.ts'
import { factsForEvents, toStoredError } from '../message/stored-error.ts'
import { isPoison } from '../store/decisions/poison.ts'
import type { Settlement } from '../store/rows.ts'
import { AttemptLog } from './attempt-log.ts'
import { LostAttempts } from './attempt-records.ts'
import { Batch, collectBatch, invokeBatch, spreadFailed } from './batch.ts'
import { claimRef, type Delivery, invokeHandler, toMessage } from './delivery.ts'
import type { DestinationState, DestinationStates } from './destination-state.ts'
import {
	classifyFailure,
	countsAsFailure,
	type DestinationFault,
	decideFailure,
	findDestinationFault,
	isLastRetry,
	isPermanent,
} from './failure-decision.ts'
import { OutboxLeaseLostError, RelayStoppedError } from './handler-signal.ts'
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
	/** The number of messages in flight. */
	inFlight = 0
	/** The number of handlers that run: fewer than messages, if some are sent in batches. */
	#calls = 0
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
		while (skipped < states.length && this.#calls < maxConcurrentTotal) {
			const state = states[this.#next++ % states.length]
			skipped = state && this.#startNext(state, this.#now()) ? 0 : skipped + 1
		}
	}

	/** Starts this delivery in a call of its own, unless its message must not be sent. */
	start(state: DestinationState, delivery: Delivery, now: number): void {
		if (!this.#admit(state, delivery, now)) return
		if (state.settings.batch) this.#runBatch(state, state.settings.batch, [delivery], now)
		else this.#run(state, delivery, now)
	}

	/** Starts a batch with this delivery and those after it in the queue. */
	#startBatch(state: DestinationState, batch: BatchSettings, first: Delivery, now: number): void {
		const max = Math.min(state.perCall, state.capacity(now))
		const isAlone = ({ row }: Delivery) => isLastRetry(row, state.settings)
		const next = (fits: Fits) => this.#takeNext(state, now, fits)
		const collected = collectBatch(batch, max, first, isAlone, next)
		const admitted = collected.filter((delivery) => this.#admit(state, delivery, now))
		this.#runBatch(state, batch, admitted, now)
	}

	/** Returns false if the message must not be sent, or the retry budget is exhausted; then it is settled. */
	#admit(state: DestinationState, delivery: Delivery, now: number): boolean {
		const { row } = delivery
		const cause = this.#unsendableCause(delivery)
		if (cause) {
			const afterDeadLetter = state.settings.afterDeadLetter ?? 'skip'
			const dead = { type: 'dead', ...claimRef(row), cause, error: null, afterDeadLetter } as const
			this.#parts.settler.settle(state, delivery, { ...dead, refundAttempt: true }, 0)
			return false
		}
		// A part of a divided batch continues an attempt that was admitted.
		if (delivery.division) return true
		const { budget, baseDelayMs } = state.settings.retry
		if (budget && row.attempt > 1) {
			if (!budget.canRetry(now)) {
				const inMs = Math.ceil(Math.max(row.delayMs ?? baseDelayMs, MIN_BUDGET_DELAY_MS))
				this.#parts.settler.release(state, delivery, 'budget', inMs)
				return false
			}
			budget.recordRetry(now)
		} else budget?.recordRequest(now)
		return true
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
		delivery.endTimeout()
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
		this.#onFailure(state, [delivery], error)
	}

	/** The messages are not divided: the handler may still send them. */
	#onBatchTimeout(state: DestinationState, batch: Batch): void {
		const error = new TimeoutError(state.destination, state.settings.timeoutMs)
		batch.abort(error)
		this.#onFailure(state, batch.deliveries, error)
	}

	#now(): number {
		return this.#parts.context.runtime.now()
	}

	/** Starts the next call of a destination. Returns false if there is none to start. */
	#startNext(state: DestinationState, now: number): boolean {
		const first = this.#takeNext(state, now)
		if (!first) return false
		const { batch } = state.settings
		if (batch) this.#startBatch(state, batch, first, now)
		else this.start(state, first, now)
		return true
	}

	/** Removes the next message from the queue, unless it cannot be started now or does not fit. */
	#takeNext(state: DestinationState, now: number, fits?: Fits): Delivery | undefined {
		if (state.isVerifying) return undefined
		while (state.queued.length > 0 && state.capacity(now) > 0 && now >= state.breaker.pausedUntil) {
			const delivery = state.queued.at(-1)
			if (delivery && !delivery.isSettled) {
				if (this.#parts.context.hasSlept(delivery.clockOffset)) {
					this.#verify(state)
					return undefined
				}
				if (fits && now < delivery.leaseUntil && !fits(delivery)) return undefined
			}
			state.queued.pop()
			if (!delivery || delivery.isSettled) continue
			if (now < delivery.leaseUntil) return delivery
			this.expireLease(state, delivery)
		}
		return undefined
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
		this.#calls++
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
				this.#onFailure(state, [delivery], error)
				this.#onEnd(state, delivery, this.#now())
			},
		)
	}

	#runBatch(
		state: DestinationState,
		settings: BatchSettings,
		admitted: readonly Delivery[],
		startedAt: number,
	): void {
		const { generation } = state.breaker
		const messages: Message[] = []
		const deliveries = admitted.filter((delivery) => {
			delivery.generation = generation
			try {
				messages.push(toMessage(delivery.row))
				return true
			} catch (error) {
				this.#onFailure(state, [delivery], error)
				return false
			}
		})
		if (deliveries.length === 0) return
		const batch = new Batch(deliveries, generation, () => this.#onBatchTimeout(state, batch))
		const { attemptLog } = state.settings
		for (const delivery of deliveries) {
			if (attemptLog) delivery.log = new AttemptLog(attemptLog, startedAt)
			delivery.batch = batch
			delivery.startedAt = startedAt
			state.inFlight.add(delivery)
		}
		state.batches.add(batch)
		this.inFlight += deliveries.length
		this.#calls++
		state.timeouts().add(batch, startedAt)
		const { emitter, settings: relay } = this.#parts.context
		invokeBatch(settings, messages, batch, relay.name, emitter).then(
			(fates) => {
				const now = this.#now()
				this.#onReport(state, batch, fates, now)
				this.#onBatchEnd(state, batch, now)
			},
			(error: unknown) => {
				this.#onFailure(state, deliveries, error, { canDivide: deliveries.length > 1 })
				this.#onBatchEnd(state, batch, this.#now())
			},
		)
	}

	#onReport(state: DestinationState, batch: Batch, { errors, foreignIds }: BatchFates, now: number): void {
		const { deliveries, generation, startedAt } = batch
		if (foreignIds.length > 0) state.warnOfForeignId(foreignIds[0])
		const durationMs = now - (startedAt ?? now)
		if (errors.size === 0) {
			// Like a call that fails as a whole, it counts once for the circuit.
			const sent = deliveries.filter((delivery) => this.#settleSent(state, delivery, durationMs))
			if (sent.length > 0) this.#recordSuccess(state, generation, now, durationMs)
			return
		}
		const isAccepting = errors.size < deliveries.length
		for (const delivery of spreadFailed(deliveries, ({ row }) => errors.has(row.id))) {
			const { id } = delivery.row
			if (errors.has(id)) this.#onFailure(state, [delivery], errors.get(id), { isAccepting, now })
			else this.#onSuccess(state, delivery, now, durationMs)
		}
	}

	#onSuccess(state: DestinationState, delivery: Delivery, now: number, durationMs: number): void {
		if (this.#settleSent(state, delivery, durationMs))
			this.#recordSuccess(state, delivery.generation, now, durationMs)
	}

	/** Returns false if its result was decided before. */
	#settleSent(state: DestinationState, delivery: Delivery, durationMs: number): boolean {
		if (delivery.isSettled) return false
		state.settings.retry.budget?.recordOutcome(true)
		const { id, attempt, claimedAt, sequence } = delivery.row
		const sent: Settlement = { type: 'sent', id, attempt, claimedAt, sequence }
		this.#parts.settler.settle(state, delivery, sent, durationMs)
		state.breaker.recordSent()
		return true
	}

	#recordSuccess(state: DestinationState, generation: number, now: number, durationMs: number): void {
		this.#parts.breaker.apply(state, state.breaker.recordSuccess(generation, now, durationMs))
	}

	/**
	 * Handles the failure of a call, with one message or with a batch. The circuit counts one failure: it
	 * measures calls that fail, and messages of one call fail together.
	 */
	#onFailure(
		state: DestinationState,
		call: readonly Delivery[],
		error: unknown,
		{ canDivide = false, isAccepting = false, now = this.#now() }: FailureDetails = {},
	): void {
		const deliveries = call.filter(({ isSettled }) => !isSettled)
		const [first] = deliveries
		if (!first) return
		// The relay aborted the handler: neither the messages nor their destination failed.
		if (first.isStoppedBy(error)) {
			for (const delivery of deliveries) this.#postpone(state, delivery, 0)
			return
		}
		for (const delivery of deliveries) delivery.error = error
		const { runtime, settings } = this.#parts.context
		const { maxRetryAfterMs } = settings
		const durationMs = now - (first.startedAt ?? now)
		// The destination works, and the message is on its way: it neither fails nor uses an attempt.
		if (isOutboxInProgress(error)) {
			const askedMs = Math.max(MIN_IN_PROGRESS_MS, Math.min(error.retryAfterMs ?? 0, maxRetryAfterMs))
			for (const delivery of deliveries) {
				const inMs = Math.round(addRetryAfterJitter(askedMs, runtime))
				this.#parts.settler.release(state, delivery, 'in-progress', inMs)
			}
			this.#recordSuccess(state, first.generation, now, durationMs)
			return
		}
		const classification = classifyFailure(state.settings, error)
		const context = { now: this.#parts.context.databaseNow(), maxRetryAfterMs, random: runtime }
		const decided = deliveries.map((delivery) => {
			state.settings.retry.budget?.recordOutcome(false)
			return {
				delivery,
				settlement: decideFailure(delivery.row, error, classification, state.settings, context),
			}
		})
		const worst = decided.find(({ settlement }) => isPermanent(settlement)) ?? decided[0]
		const fault = worst && findDestinationFault(state.settings, error, classification, worst.settlement)
		// What a destination rejects beside messages that it accepts, or in a batch, is the fault of a message.
		const isMessageFault = isAccepting || (canDivide && fault === 'rejected')
		if (fault && !isMessageFault && this.#keepQueued(state, deliveries, fault)) return
		// No message becomes a dead letter for the failure of another one.
		const isDivided = ({ settlement }: Decided) => canDivide && settlement.type === 'dead'
		const divided = decided.filter(isDivided)
		for (const one of decided) if (!isDivided(one)) this.#settleFailed(state, one, durationMs)
		if (divided.length > 0) state.requeueInHalves(divided.map(({ delivery }) => delivery))
		const { kind, retryAfterMs } = classification
		const pauseMs = kind === 'throttled' ? Math.min(retryAfterMs ?? 0, maxRetryAfterMs) : 0
		// A destination that returns Retry-After is not down: it is paused, and its circuit counts no failure.
		if (pauseMs > 0 && !state.breaker.isProbing) {
			// A report may contain the same Retry-After for each of its messages.
			if (!first.batch || state.breaker.pausedUntil < now + pauseMs) this.#parts.breaker.pause(state, pauseMs)
			return
		}
		const { breaker } = state
		const change = countsAsFailure(state.settings, error, classification)
			? breaker.recordFailure(first.generation, now, durationMs, retryAfterMs)
			: breaker.recordSuccess(first.generation, now, durationMs)
		if (!change) return
		if (change.state === 'open') this.#parts.settler.releaseQueued(state, 'paused')
		// An opening circuit must not shorten the Retry-After.
		const pausedForMs = change.state === 'open' ? Math.max(change.pausedForMs, Math.ceil(pauseMs)) : 0
		this.#parts.breaker.apply(state, { ...change, pausedForMs })
	}

	/** Probes come early and often: one that did not reach the destination must not use an attempt. */
	#settleFailed(state: DestinationState, { delivery, settlement }: Decided, durationMs: number): void {
		if (state.breaker.isProbe(delivery) && isUnprocessed(delivery.error))
			this.#parts.settler.release(state, delivery, 'paused')
		else this.#parts.settler.settle(state, delivery, settlement, durationMs)
	}

	/**
	 * If the destination caused a permanent failure, opens the circuit and returns the messages to the queue.
	 * Returns false if the message caused it. The messages are due after the others, so that the next probe is
	 * another message where the order of its key allows it.
	 */
	#keepQueued(state: DestinationState, deliveries: readonly Delivery[], fault: DestinationFault): boolean {
		const { settler, breaker } = this.#parts
		const [first] = deliveries
		if (!first) return false
		const { row, generation, error } = first
		const decision = state.breaker.recordFault(fault, row.id, generation, this.#now())
		if (!decision) return false
		for (const delivery of deliveries) settler.release(state, delivery, 'paused', 1)
		const { change, deadLetters } = decision
		if (!change) return true
		settler.releaseQueued(state, 'paused')
		const facts = factsForEvents(error)
		breaker.apply(state, change, deadLetters.length > 0 ? { ...facts, deadLetters } : facts)
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
		this.inFlight--
		this.#onSlotFree(state, now)
	}

	#onBatchEnd(state: DestinationState, batch: Batch, now: number): void {
		batch.list?.remove(batch)
		state.batches.delete(batch)
		for (const delivery of batch.deliveries) {
			state.finish(delivery)
			delivery.batch = undefined
		}
		this.inFlight -= batch.deliveries.length
		this.#onSlotFree(state, now)
	}

	#onSlotFree(state: DestinationState, now: number): void {
		const { maxConcurrentTotal } = this.#parts.context.settings
		const wasFull = this.#calls-- >= maxConcurrentTotal
		// Other destinations wait for a slot only if none was free.
		if (wasFull) this.pump()
		else if (!this.isPaused && this.#startNext(state, now))
			// More than one if the capacity has grown, as it does after an outage.
			while (
				this.#calls < maxConcurrentTotal &&
				state.capacity(now) > 0 &&
				this.#startNext(state, this.#now())
			);
		// There may be capacity to claim more.
		this.#parts.signal.wake()
	}
}

type Fits = (delivery: Delivery) => boolean

interface Decided {
	readonly delivery: Delivery
	readonly settlement: Settlement
}

interface FailureDetails {
	/** True if several messages failed in one call that has ended, so that it is unknown which one caused it. */
	readonly canDivide?: boolean
	/** True if the destination accepted other messages of the same call. */
	readonly isAccepting?: boolean
	readonly now?: number
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
