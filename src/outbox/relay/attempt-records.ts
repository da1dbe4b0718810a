/**
 * The records of an attempt log: what each call of a handler resulted in. A record is written with the
 * settlement of its message, so it costs no transaction of its own; a lost lease has no settlement, and its
 * record is written separately.
 */
import { errorName, messageForEvents, responseOf } from '../message/stored-error.ts'
import type { AttemptOutcome, NewAttempt, Settlement } from '../store/rows.ts'
import type { AttemptLog } from './attempt-log.ts'
import { type Delivery, RelayStoppedError } from './delivery.ts'
import { nextTick } from './event-loop-yield.ts'
import type { RelayContext } from './relay-context.ts'

/** Returns the record of the attempt, which ends now. */
function toAttempt(
	{ row, error }: Delivery,
	log: AttemptLog,
	outcome: AttemptOutcome,
	context: RelayContext,
): NewAttempt {
	const { maxResponseChars, keepForMs } = log.settings
	const durationMs = context.runtime.now() - log.startedAt
	const hasFailed = error !== undefined && outcome !== 'sent'
	const failed = hasFailed ? responseOf(error, maxResponseChars) : undefined
	const { statusCode = failed?.statusCode, response = failed?.body } = log.recorder
	return {
		messageId: row.id,
		destination: row.destination,
		attempt: row.attempt,
		relay: context.owner,
		startedAt: Math.round(context.databaseNow() - durationMs),
		durationMs: Math.max(0, Math.round(durationMs)),
		outcome,
		statusCode: statusCode ?? null,
		errorType: hasFailed ? errorName(error) : null,
		errorMessage: hasFailed ? messageForEvents(error) : null,
		response: log.excerpt(response ?? ''),
		keepForMs,
	}
}

/** Returns the settlement with the record of its attempt, if the destination has a log and the handler was called. */
export function withAttempt(settlement: Settlement, delivery: Delivery, context: RelayContext): Settlement {
	const { log } = delivery
	if (log === undefined) return settlement
	return { ...settlement, log: toAttempt(delivery, log, outcomeOf(settlement, delivery), context) }
}

function outcomeOf({ type }: Settlement, delivery: Delivery): AttemptOutcome {
	if (type === 'release') return delivery.releaseReason === 'in-progress' ? 'in-progress' : 'paused'
	if (type !== 'retry') return type
	if (delivery.error instanceof RelayStoppedError) return 'stopped'
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
		const { log } = delivery
		if (log === undefined) return
		const context = this.#context
		const count = this.#pending.push(toAttempt(delivery, log, 'lease-lost', context))
		if (count === 1) nextTick(context.runtime, () => this.#write())
	}

	#write(): void {
		const attempts = this.#pending
		this.#pending = []
		// A log is not worth a repetition: the database may be the reason why the leases were lost.
		this.#context.callStoreOnce(() => this.#context.store.logAttempts(attempts)).catch(() => {})
	}
}
