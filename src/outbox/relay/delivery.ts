/**
 * One claimed message: queued at its destination, then in flight, then settled. Its timeout is an entry in
 * the list of all timeouts of the same length, so a message costs no timer; its AbortSignal is created when
 * the handler reads it.
 */
import { permanent } from '../../core/classify/permanent.ts'
import type { Emitter } from '../../core/observe/emitter.ts'
import type { DeliveryInfo } from '../../core/observe/observer.ts'
import type { TimeoutEntry, TimeoutList } from '../../core/runtime/timeout-list.ts'
import type { DeliveryContext, MessageHandler } from '../destinations/destination.ts'
import type { RelayEvent, ReleaseReason } from '../events/relay-events.ts'
import type { Message } from '../message/message.ts'
import type { ClaimedRow, ClaimRef } from '../store/rows.ts'
import type { AttemptLog } from './attempt-log.ts'
import { HandlerSignal } from './handler-signal.ts'

/** A call that a delivery shares with other messages. */
export interface SharedCall extends TimeoutEntry, Pick<HandlerSignal, 'isTimedOut' | 'isStoppedBy'> {
	/** Aborts one message of the call. */
	abortOne(delivery: Delivery, reason: unknown): void
}

export class Delivery extends HandlerSignal implements TimeoutEntry {
	before: TimeoutEntry | undefined
	after: TimeoutEntry | undefined
	startedAt: number | undefined
	list: TimeoutList | undefined
	/** The claimed row; replaced if its lease expired and this relay claimed it again. */
	row: ClaimedRow
	/** The end of the lease by this process's own clock. */
	leaseUntil: number
	/** `RelayContext.clockOffset` when it was claimed or renewed; undefined until it is queued. */
	clockOffset: number | undefined
	/** The circuit generation in which it was started. */
	generation = 0
	/** True once its result is decided. Its handler may still be running. */
	isSettled = false
	/** Set by KeyRuns. */
	isFollower = false
	follower: Delivery | undefined
	releaseReason: ReleaseReason = 'paused'
	/** What the handler threw, for events. */
	error: unknown
	/** Set when the handler is called, if the destination has an attempt log. */
	log: AttemptLog | undefined
	/** The call that it shares with other messages. It has the timeout and the signal. */
	batch: SharedCall | undefined
	/** Equal for the messages of a divided batch that are sent together again. */
	division: object | undefined
	readonly #onTimeout: (delivery: Delivery) => void

	constructor(row: ClaimedRow, leaseUntil: number, onTimeout: (delivery: Delivery) => void) {
		super()
		this.row = row
		this.leaseUntil = leaseUntil
		this.#onTimeout = onTimeout
	}

	override abort(reason: unknown): void {
		if (this.batch) this.batch.abortOne(this, reason)
		else super.abort(reason)
	}

	override get isTimedOut(): boolean {
		return this.batch ? this.batch.isTimedOut : super.isTimedOut
	}

	override isStoppedBy(error: unknown): boolean {
		return this.batch ? this.batch.isStoppedBy(error) : super.isStoppedBy(error)
	}

	expire(): void {
		this.#onTimeout(this)
	}

	/** Ends the timeout of its call. */
	endTimeout(): void {
		const call = this.batch ?? this
		call.list?.remove(call)
	}
}

/** A handler sees nothing else of the delivery. `{ ...context }` does not copy the signal, a getter. */
class Context implements DeliveryContext {
	readonly attempt: number
	readonly #delivery: Delivery

	constructor(delivery: Delivery) {
		this.attempt = delivery.row.attempt - 1
		this.#delivery = delivery
	}

	get signal(): AbortSignal {
		return this.#delivery.signal
	}

	get attemptLog(): DeliveryContext['attemptLog'] {
		return this.#delivery.log?.recorder
	}
}

/** Calls the handler, with the observer's `around` hook if there is one. */
export function invokeHandler(
	deliver: MessageHandler,
	delivery: Delivery,
	relay: string,
	{ around }: Emitter<RelayEvent>,
): Promise<unknown> {
	if (!around) return callHandler(deliver, delivery)
	const info = deliveryInfo(relay, delivery.row)
	return around(info, () => callHandler(deliver, delivery)) as Promise<unknown>
}

/** Returns the promise of the handler as it is; any other result or exception becomes a promise. */
function callHandler(deliver: MessageHandler, delivery: Delivery): Promise<unknown> {
	try {
		const result = deliver(toMessage(delivery.row), new Context(delivery))
		return result instanceof Promise ? result : Promise.resolve(result)
	} catch (error) {
		return Promise.reject(error)
	}
}

/** Returns what observers see of a delivery. */
export const deliveryInfo = (relay: string, row: ClaimedRow): DeliveryInfo => ({
	type: 'delivery',
	relay,
	destination: row.destination,
	topic: row.topic,
	messageId: row.id,
	attempt: row.attempt,
	get headers() {
		try {
			return JSON.parse(row.headers ?? '{}')
		} catch {
			// The handler is not called either: the message is invalid.
			return {}
		}
	},
})

export function toMessage(row: ClaimedRow): Message {
	const { headers, expiresAt } = row
	try {
		return {
			id: row.id,
			topic: row.topic,
			destination: row.destination,
			key: row.key ?? undefined,
			sequence: row.sequence,
			payload: JSON.parse(row.payload),
			headers: headers === null ? {} : JSON.parse(headers),
			attempts: row.attempt,
			createdAt: new Date(row.createdAt),
			expiresAt: expiresAt === null ? undefined : new Date(expiresAt),
		}
	} catch (error) {
		throw permanent(new Error('the stored message is not valid JSON', { cause: error }))
	}
}

export const claimRef = ({ id, attempt, claimedAt, sequence }: ClaimedRow): ClaimRef => ({
	id,
	attempt,
	claimedAt,
	sequence,
})
