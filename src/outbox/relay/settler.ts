/**
 * Writes the results of deliveries in batches. Results collect while the previous batch is written, so an idle
 * relay writes immediately and a busy one in thousands. Results are counted and emitted once they are written.
 */
import { TimeoutError } from '../../core/errors/errors.ts'
import type { ErrorFacts } from '../../core/events/events.ts'
import type { CancelTimer } from '../../core/runtime/runtime.ts'
import type { ReleaseReason } from '../events/relay-events.ts'
import type { StoredError } from '../message/message.ts'
import { factsForEvents } from '../message/stored-error.ts'
import type { Settlement } from '../store/rows.ts'
import { withAttempt } from './attempt-records.ts'
import { claimRef, type Delivery } from './delivery.ts'
import type { DestinationState } from './destination-state.ts'
import { nextTick } from './event-loop-yield.ts'
import type { RelayContext } from './relay-context.ts'
import type { WakeSignal } from './wake-signal.ts'

interface SettledDelivery {
	readonly state: DestinationState
	readonly delivery: Delivery
	readonly settlement: Settlement
	readonly durationMs: number
}

const NONE: ReadonlySet<string> = new Set()

export class Settler {
	readonly #context: RelayContext
	readonly #signal: WakeSignal
	#pending: SettledDelivery[] = []
	#writing: readonly SettledDelivery[] = []
	/** Maximum number of results per write: less than a batch after the database has cancelled a write. */
	#limit = Infinity
	#cancelFlush: CancelTimer | undefined
	#flushing: Promise<void> | undefined
	/** Called when the next messages of runs can start. */
	onRunContinued: () => void = () => {}

	constructor(context: RelayContext, signal: WakeSignal) {
		this.#context = context
		this.#signal = signal
	}

	settle(state: DestinationState, delivery: Delivery, result: Settlement, durationMs: number): void {
		const settlement = withAttempt(result, delivery, this.#context)
		delivery.isSettled = true
		if (settlement.type === 'sent') state.runs.recordFollower(delivery)
		// Followers are released first: once this outcome is written, the key may be claimed again.
		else this.releaseFollowers(state, delivery)
		if ((settlement.type === 'retry' || settlement.type === 'release') && settlement.inMs !== undefined)
			state.scan.expect(this.#context.runtime.now() + Math.max(settlement.inMs, 1))
		this.#pending.push({ state, delivery, settlement, durationMs })
		if (this.#flushing === undefined) this.#scheduleFlush()
	}

	/** Returns a message to the queue. The attempt does not count. */
	release(state: DestinationState, delivery: Delivery, reason: ReleaseReason, inMs?: number): void {
		delivery.releaseReason = reason
		this.settle(state, delivery, { type: 'release', ...claimRef(delivery.row), inMs }, 0)
	}

	/** Returns the messages that wait for this message to the queue, because it was not sent. */
	releaseFollowers(state: DestinationState, { row }: Delivery): void {
		for (const follower of state.runs.take(row.key))
			if (!follower.isSettled) this.release(state, follower, 'not-first')
	}

	/** Returns all messages that are not started to the queue. */
	releaseQueued(state: DestinationState, reason: ReleaseReason): void {
		for (const delivery of state.takeWaiting()) this.release(state, delivery, reason)
	}

	/** Starts to write now. A store can combine it with another operation that is started in the same tick. */
	flush(): void {
		// A scheduled flush would write the next results alone, just before a claim could take them along.
		this.#cancelFlush?.()
		this.#cancelFlush = undefined
		if (this.#flushing !== undefined || this.#pending.length === 0) return
		const end = (): void => {
			this.#flushing = undefined
			if (this.#pending.length >= this.#context.settings.batchSize) this.flush()
			else if (this.#pending.length > 0) this.#scheduleFlush()
		}
		// It fails only if the store was abandoned; leases expire by themselves.
		this.#flushing = this.#write().then(end, end)
	}

	/** Resolves when all results are written, or the store was abandoned. */
	async flushAll(): Promise<void> {
		this.flush()
		while (this.#flushing !== undefined) {
			await this.#flushing
			this.flush()
		}
	}

	get isIdle(): boolean {
		return this.#flushing === undefined && this.#pending.length === 0
	}

	/** Yields deliveries that are settled and not yet written: their leases must still be renewed. */
	*unwritten(): Generator<Delivery> {
		for (const { delivery } of this.#writing) yield delivery
		for (const { delivery } of this.#pending) yield delivery
	}

	/** Flushes in the next tick: SQLite responds within the tick, which would make batches of one. */
	#scheduleFlush(): void {
		this.#cancelFlush ??= nextTick(this.#context.runtime, () => this.flush())
	}

	#takePending(limit: number): readonly SettledDelivery[] {
		if (this.#pending.length > limit) return this.#pending.splice(0, limit)
		const all = this.#pending
		this.#pending = []
		return all
	}

	async #write(): Promise<void> {
		const { store, owner, keepsHistory, settings } = this.#context
		const max = 2 * settings.batchSize
		let batch = this.#takePending(Math.min(max, this.#limit))
		this.#writing = batch
		try {
			let isRepeated = false
			const lost = await this.#context.callStore('settle', async (_, failures) => {
				isRepeated = failures > 0
				try {
					const settlements = batch.map(({ settlement }) => settlement)
					return await store.settle(owner, settlements, keepsHistory)
				} catch (error) {
					if (error instanceof TimeoutError && batch.length > 1) batch = this.#halve(batch)
					throw error
				}
			})
			this.#limit = Math.min(max, this.#limit * 2)
			this.#onWritten(batch, lost.length === 0 ? NONE : new Set(lost), isRepeated)
		} finally {
			this.#writing = []
		}
	}

	/** Returns the first half of a batch that took the database too long. The rest is written later. */
	#halve(batch: readonly SettledDelivery[]): readonly SettledDelivery[] {
		const half = batch.length >> 1
		this.#pending = [...batch.slice(half), ...this.#pending]
		this.#limit = half
		this.#writing = batch.slice(0, half)
		return this.#writing
	}

	/** If a write was repeated, missing claims are no lost leases: the first try may have succeeded. */
	#onWritten(batch: readonly SettledDelivery[], lost: ReadonlySet<string>, isRepeated: boolean): void {
		let isKeyFree = false
		let isRunContinued = false
		for (const settled of batch) {
			const { state, delivery, settlement } = settled
			const isLost = lost.size > 0 && lost.has(settlement.id)
			this.#countAndEmit(settled, isLost && !isRepeated)
			if (settlement.type === 'sent') isRunContinued = this.#continueRun(settled, isLost) || isRunContinued
			if (settlement.type === 'sent' || settlement.type === 'dead')
				isKeyFree = state.freeKey(delivery) || isKeyFree
			// The message keeps its due time, before the start of the next scan. A follower is claimed by its key.
			if (settlement.type === 'release' && settlement.inMs === undefined && !delivery.isFollower)
				state.scan.reset()
		}
		if (isKeyFree) this.#signal.wake()
		if (isRunContinued) this.onRunContinued()
	}

	/**
	 * The next message of a run starts when the one before it is recorded as sent. If it started earlier, a
	 * crash would repeat a message after a later one of its key. Returns true if there is a next message.
	 */
	#continueRun({ state, delivery }: SettledDelivery, isLost: boolean): boolean {
		if (!isLost) return state.continueRun(delivery)
		if (delivery.follower) this.releaseFollowers(state, delivery)
		return false
	}

	#countAndEmit({ delivery, settlement, durationMs }: SettledDelivery, isLost: boolean): void {
		const context = this.#context
		if (!isLost) {
			if (settlement.type === 'sent') context.sent++
			else if (settlement.type === 'retry') context.failed++
			else if (settlement.type === 'dead') context.dead++
		}
		if (!context.emitter.hasListeners) return
		const { id: messageId, topic, destination, attempt: attempts, dueAt } = delivery.row
		const message = { messageId, topic, destination, attempts }
		if (isLost) {
			context.emitter.emit({ type: 'relay_lease_lost', ...message })
			return
		}
		switch (settlement.type) {
			case 'sent': {
				const lagMs = Math.max(0, context.databaseNow() - dueAt)
				context.emitter.emit({ type: 'relay_sent', ...message, durationMs, lagMs })
				break
			}
			case 'retry': {
				const delayMs = settlement.inMs
				const facts = failureFacts(delivery, settlement.error)
				context.emitter.emit({ type: 'relay_retry_scheduled', ...message, durationMs, delayMs, ...facts })
				break
			}
			case 'dead': {
				const { cause, error, refundAttempt } = settlement
				const facts = error && failureFacts(delivery, error)
				const made = refundAttempt ? attempts - 1 : attempts
				context.emitter.emit({ type: 'relay_dead_letter', ...message, attempts: made, cause, ...facts })
				break
			}
			case 'release':
				context.emitter.emit({ type: 'relay_released', ...message, reason: delivery.releaseReason })
		}
	}
}

/** Returns the facts of the error with the stored type, and its message without the response body. */
const failureFacts = ({ error }: Delivery, { type }: StoredError): ErrorFacts => ({
	...factsForEvents(error),
	errorType: type,
})
