/**
 * Writes the records of an attempt log. A record is written with the settlement of its message, so it costs no
 * transaction of its own; a lost lease has no settlement, and its record is written separately.
 */
import { isDestinationDisabled } from '../destinations/destination.ts'
import type { AttemptOutcome, NewAttempt, Settlement } from '../store/rows.ts'
import type { Delivery } from './delivery.ts'
import { nextTick } from './event-loop-yield.ts'
import { isRelayStopped } from './handler-signal.ts'
import type { RelayContext } from './relay-context.ts'

/** Returns the settlement with the record of its attempt, if the destination has a log and the handler was called. */
export function withAttempt(settlement: Settlement, delivery: Delivery, context: RelayContext): Settlement {
	const { log } = delivery
	if (log === undefined || isNothingSent(delivery)) return settlement
	return { ...settlement, log: log.toAttempt(delivery, outcomeOf(settlement, delivery), context) }
}

/**
 * True if the handler found its destination disabled, and sent nothing. A probe asks again for as long as messages are
 * queued, which may be weeks, and its records would hide those of the requests.
 */
const isNothingSent = ({ error, log }: Delivery): boolean =>
	isDestinationDisabled(error) && log?.recorder.statusCode === undefined

function outcomeOf({ type }: Settlement, delivery: Delivery): AttemptOutcome {
	if (type === 'release') return delivery.releaseReason === 'in-progress' ? 'in-progress' : 'paused'
	if (type !== 'retry') return type
	if (isRelayStopped(delivery.error)) return 'stopped'
	return delivery.isTimedOut ? 'timed-out' : 'retry'
}

/** Writes the attempts whose leases were lost, those of one turn of the event loop together. */
export class LostAttempts {
	readonly #context: RelayContext
	#pending: NewAttempt[] = []

	constructor(context: RelayContext) {
		this.#context = context
	}

	add(delivery: Delivery): void {
		if (delivery.log === undefined) return
		const context = this.#context
		const count = this.#pending.push(delivery.log.toAttempt(delivery, 'lease-lost', context))
		if (count === 1) nextTick(context.runtime, () => this.#write())
	}

	#write(): void {
		const attempts = this.#pending
		this.#pending = []
		// A log is not worth a repetition: the database may be the reason why the leases were lost.
		this.#context.callStoreOnce(() => this.#context.store.logAttempts(attempts)).catch(() => {})
	}
}
