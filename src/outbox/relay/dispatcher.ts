/**
 * Starts messages where there is room and hears how they end. Round robin over the lanes, one message at a time: when all places of the
 * relay are taken, the next free one goes to the lane that has waited longest, however long the queue of another is.
 */

import { TimeoutError } from '../../core/errors/errors.ts'
import { failureNote } from '../message/failure-note.ts'
import type { DeadLetterCause } from '../message/message.ts'
import type { Settlement } from '../store/rows.ts'
import { invokeHandler } from './answer.ts'
import { type Delivery, heldBy, LeaseLostError, RelayStoppedError } from './delivery.ts'
import type { DestinationState } from './destination-state.ts'
import type { ReleaseReason } from './events.ts'
import { decideFailure } from './failure-decision.ts'
import { classifyFailure, countsAsFailure } from './meaning.ts'
import type { RelayContext } from './relay-context.ts'
import type { Settler } from './settler.ts'
import type { SharedBreaker } from './shared-breaker.ts'

/** A retry without budget is put off by this at least, or a backoff of nothing would ask for it again and again. */
const LEAST_DEFERRAL_MS = 100

export class Dispatcher {
	readonly #context: RelayContext
	readonly #lanes: ReadonlyMap<string, DestinationState>
	readonly #settler: Settler
	readonly #gatekeeper: SharedBreaker
	/** Told whenever something has ended: there may be room for more. */
	readonly #onRoom: () => void
	inFlight = 0
	/** Is nothing started, for something else is to run alone or the relay stops? */
	isPaused = false
	/** Where the round goes on. */
	#turn = 0

	constructor(
		context: RelayContext,
		lanes: ReadonlyMap<string, DestinationState>,
		settler: Settler,
		gatekeeper: SharedBreaker,
		onRoom: () => void,
	) {
		this.#context = context
		this.#lanes = lanes
		this.#settler = settler
		this.#gatekeeper = gatekeeper
		this.#onRoom = onRoom
	}

	/** Starts whatever may be started. */
	pump(): void {
		if (this.isPaused) return
		const lanes = [...this.#lanes.values()]
		const { maxInFlight } = this.#context.settings
		let passed = 0
		while (passed < lanes.length && this.inFlight < maxInFlight) {
			const lane = lanes[this.#turn++ % lanes.length]
			passed = lane && this.#startNext(lane) ? 0 : passed + 1
		}
	}

	/** Starts this one, whatever else holds. */
	start(lane: DestinationState, delivery: Delivery): void {
		const { row } = delivery
		const unsendable = this.#causeNotToSend(delivery)
		if (unsendable) {
			const afterDeadLetter = lane.settings.afterDeadLetter ?? 'skip'
			const dead = {
				type: 'dead',
				...heldBy(row),
				cause: unsendable,
				error: null,
				afterDeadLetter,
				refundAttempt: true,
			} as const
			this.#settle(lane, delivery, dead, 0)
			return
		}
		const { budget } = lane.settings.retry
		if (budget && row.attempt > 1) {
			const now = this.#context.runtime.now()
			if (!budget.canRetry(now)) {
				const delayMs = row.delayMs ?? lane.settings.retry.baseDelayMs
				const inMs = Math.ceil(Math.max(delayMs, LEAST_DEFERRAL_MS))
				this.#giveBack(lane, delivery, 'budget', inMs)
				return
			}
			budget.recordRetry(now)
		} else budget?.recordRequest(this.#context.runtime.now())
		this.#run(lane, delivery)
	}

	/** Gives back what was claimed and not started. No attempt is burned. */
	release(lane: DestinationState, reason: ReleaseReason): void {
		const { waiting } = lane
		lane.waiting = []
		for (const delivery of waiting) this.#giveBack(lane, delivery, reason)
	}

	/**
	 * The relay stops, and a handler does not. It keeps what is left of its lease, for it may still send; but a process that was asked to
	 * end has not died of its message.
	 */
	leave(lane: DestinationState, delivery: Delivery): void {
		const inMs = Math.max(0, delivery.leaseUntil - this.#context.runtime.now())
		if (!delivery.isSettled) this.#putOff(lane, delivery, inMs)
		// Its time limit would keep the process alive.
		delivery.list?.remove(delivery)
	}

	/** Its lease is over by our own clock. What is under way is lost; what only waited is given back, for nobody died of it. */
	letGo(lane: DestinationState, delivery: Delivery): void {
		if (delivery.isSettled || lane.underWay.has(delivery)) {
			this.lose(lane, delivery)
			return
		}
		lane.waiting = lane.waiting.filter((one) => one !== delivery)
		this.#giveBack(lane, delivery, 'lease')
	}

	/** Another relay has it, or may have. */
	lose(lane: DestinationState, delivery: Delivery): void {
		const { id, topic, destination, attempt: attempts } = delivery.row
		if (delivery.isSettled) return
		delivery.isSettled = true
		delivery.abort(new LeaseLostError(id))
		delivery.list?.remove(delivery)
		lane.waiting = lane.waiting.filter((one) => one !== delivery)
		this.#context.tell({ type: 'lease_lost', id, topic, destination, attempts })
	}

	/** A handler has taken longer than it may. Its place stays taken until it has ended, for until then it may still send. */
	expired(delivery: Delivery): void {
		const lane = this.#lanes.get(delivery.row.destination)
		if (!lane) return
		const error = new TimeoutError(lane.destination, lane.settings.timeoutMs)
		delivery.abort(error)
		this.#failed(lane, delivery, error)
	}

	#startNext(lane: DestinationState): boolean {
		const now = this.#context.runtime.now()
		while (lane.waiting.length > 0 && lane.room(now) > 0 && now >= lane.gate.heldUntil) {
			const delivery = lane.waiting.pop()
			if (!delivery || delivery.isSettled) continue
			if (now >= delivery.leaseUntil) this.letGo(lane, delivery)
			else {
				this.start(lane, delivery)
				return true
			}
		}
		return false
	}

	#causeNotToSend({ row }: Delivery): DeadLetterCause | undefined {
		if (row.crashes >= this.#context.settings.maxCrashes) return 'crashed'
		return row.expiresAt !== null && row.expiresAt <= this.#context.databaseNow() ? 'expired' : undefined
	}

	#run(lane: DestinationState, delivery: Delivery): void {
		const now = this.#context.runtime.now()
		lane.underWay.add(delivery)
		this.inFlight++
		delivery.ticket = lane.gate.ticket
		lane.limits().add(delivery, now)
		invokeHandler(lane.settings.deliver, delivery).then(
			() => {
				this.#succeeded(lane, delivery, now)
				this.#ended(lane, delivery)
			},
			(error: unknown) => {
				this.#failed(lane, delivery, error)
				this.#ended(lane, delivery)
			},
		)
	}

	#succeeded(lane: DestinationState, delivery: Delivery, startedAt: number): void {
		if (delivery.isSettled) return
		const { runtime } = this.#context
		const now = runtime.now()
		lane.settings.retry.budget?.recordOutcome(true)
		const { id, attempt, claimedAt } = delivery.row
		this.#settle(lane, delivery, { type: 'sent', id, attempt, claimedAt }, now - startedAt)
		this.#gatekeeper.turn(lane, lane.gate.succeeded(delivery.ticket, now, now - startedAt, runtime))
	}

	#failed(lane: DestinationState, delivery: Delivery, error: unknown): void {
		if (delivery.isSettled) return
		const { runtime, settings } = this.#context
		// Nobody failed: neither the message nor its destination is to suffer for it.
		if (delivery.isStoppedBy(error)) {
			this.#putOff(lane, delivery, 0)
			return
		}
		const now = runtime.now()
		const verdict = classifyFailure(lane.settings, error)
		const durationMs = now - (delivery.startedAt ?? now)
		const circumstances = {
			now: this.#context.databaseNow(),
			maxRetryAfterMs: settings.maxRetryAfterMs,
			chance: runtime,
		}
		lane.settings.retry.budget?.recordOutcome(false)
		this.#settle(
			lane,
			delivery,
			decideFailure(delivery.row, error, verdict, lane.settings, circumstances),
			durationMs,
		)
		const retryAfterMs = verdict.retryAfterMs ?? 0
		const holdMs = verdict.kind === 'throttled' ? Math.min(retryAfterMs, settings.maxRetryAfterMs) : 0
		// Who says when to come back is not down, and is to be asked then and not when a circuit has it.
		if (holdMs > 0 && !lane.gate.isProbing) {
			this.#gatekeeper.hold(lane, holdMs)
			return
		}
		const change = countsAsFailure(lane.settings, error, verdict)
			? lane.gate.failed(delivery.ticket, now, durationMs, verdict.retryAfterMs, runtime)
			: lane.gate.succeeded(delivery.ticket, now, durationMs, runtime)
		if (change) {
			if (change.state === 'open') this.release(lane, 'gate')
			// That the circuit opens as well is no reason to come back sooner than was asked for.
			const pausedForMs = change.state === 'open' ? Math.max(change.pausedForMs, Math.ceil(holdMs)) : 0
			this.#gatekeeper.turn(lane, { ...change, pausedForMs })
		}
	}

	/** Begun and not ended, for the relay stops: it may have been sent, so the attempt counts, but it is tried again whatever the limit. */
	#putOff(lane: DestinationState, delivery: Delivery, inMs: number): void {
		const { row } = delivery
		const error = failureNote(new RelayStoppedError())
		const later = {
			type: 'retry',
			...heldBy(row),
			inMs: Math.ceil(inMs),
			delayMs: row.delayMs,
			error,
		} as const
		this.#settle(lane, delivery, later, 0)
	}

	#giveBack(lane: DestinationState, delivery: Delivery, reason: ReleaseReason, inMs?: number): void {
		delivery.releasedFor = reason
		this.#settle(lane, delivery, { type: 'release', ...heldBy(delivery.row), inMs }, 0)
	}

	#settle(lane: DestinationState, delivery: Delivery, outcome: Settlement, durationMs: number): void {
		delivery.isSettled = true
		if ((outcome.type === 'retry' || outcome.type === 'release') && outcome.inMs !== undefined)
			lane.lookout.expect(this.#context.runtime.now() + Math.max(outcome.inMs, 1))
		this.#settler.add(delivery, outcome, durationMs)
	}

	#ended(lane: DestinationState, delivery: Delivery): void {
		delivery.list?.remove(delivery)
		lane.finished(delivery)
		const wasFull = this.inFlight-- >= this.#context.settings.maxInFlight
		// With places to spare nobody else waits for this one's.
		if (wasFull) this.pump()
		// More than one where the room has grown: a destination that comes back has more of it with time.
		else if (!this.isPaused)
			while (this.inFlight < this.#context.settings.maxInFlight && this.#startNext(lane));
		this.#onRoom()
	}
}
