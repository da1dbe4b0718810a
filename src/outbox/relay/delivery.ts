/**
 * One message while this relay holds it: in the queue of its lane, then under way, then settled. Its time limit is a link in the list
 * of all limits of that length, so that a message costs no timer; its signal is made when a handler asks for it.
 */
import { safeGet } from '../../core/classify/safe-get.ts'
import { YaokiError } from '../../core/errors/errors.ts'
import type { TimeoutEntry, TimeoutList } from '../../core/runtime/timeout-list.ts'
import type { DeliveryContext } from '../destinations/destination.ts'
import type { Message } from '../message/message.ts'
import type { ClaimedRow, ClaimRef } from '../store/rows.ts'
import type { ReleaseReason } from './events.ts'

/** Another relay may have the message, for this one could not renew its lease. */
export class LeaseLostError extends YaokiError {
	override readonly name = 'LeaseLostError'

	constructor(id: string) {
		super(
			'YAOKI_OUTBOX_LEASE_LOST',
			`message ${id}: the lease has ended, and another relay may have it by now`,
		)
	}
}

/** The relay was stopped before the message was sent. */
export class RelayStoppedError extends YaokiError {
	override readonly name = 'RelayStoppedError'

	constructor() {
		super('YAOKI_OUTBOX_STOPPED', 'the relay was stopped, and the message had no more time')
	}
}

export class Delivery implements TimeoutEntry {
	before: TimeoutEntry | undefined
	after: TimeoutEntry | undefined
	startedAt: number | undefined
	list: TimeoutList | undefined
	/** As it was claimed; another one when its lease had ended and it was claimed here again. */
	row: ClaimedRow
	/** Until when it is ours for sure, by this process's own clock. */
	leaseUntil: number
	/** What the circuit of its destination gave it when it was started. */
	ticket = 0
	/** Has it been decided what becomes of it? Its handler may still be running. */
	isSettled = false
	/** Why it was given back, if it was. */
	releasedFor: ReleaseReason = 'gate'
	#controller: AbortController | undefined
	#reason: unknown
	/** Told when the time is over. */
	readonly #onExpire: (delivery: Delivery) => void

	constructor(row: ClaimedRow, leaseUntil: number, onExpire: (delivery: Delivery) => void) {
		this.row = row
		this.leaseUntil = leaseUntil
		this.#onExpire = onExpire
	}

	/** What its handler is told: only that, and nothing of the relay's own. */
	context(): DeliveryContext {
		return new Context(this)
	}

	get signal(): AbortSignal {
		this.#controller ??= new AbortController()
		if (this.#reason !== undefined) this.#controller.abort(this.#reason)
		return this.#controller.signal
	}

	abort(reason: unknown): void {
		this.#reason ??= reason
		this.#controller?.abort(this.#reason)
	}

	expire(): void {
		this.#onExpire(this)
	}

	/** Did its handler end with this error for the relay had told it to, being stopped? */
	isStoppedBy(error: unknown): boolean {
		if (!(this.#reason instanceof RelayStoppedError)) return false
		return [error, safeGet(error, 'cause')].includes(this.#reason) || safeGet(error, 'name') === 'AbortError'
	}
}

/** The signal is made when it is read, as in core, so that a copy by `{ ...context }` does not have it. */
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
}

/** What names this very claim of a message. */
export const heldBy = ({ id, attempt, claimedAt }: ClaimedRow): ClaimRef => ({ id, attempt, claimedAt })

/** What the handler gets. Throws when the row does not hold JSON. */
export function toMessage(row: ClaimedRow): Message {
	const { headers, expiresAt } = row
	return {
		id: row.id,
		topic: row.topic,
		destination: row.destination,
		key: row.key ?? undefined,
		payload: JSON.parse(row.payload),
		headers: headers === null ? {} : JSON.parse(headers),
		attempts: row.attempt,
		createdAt: new Date(row.createdAt),
		expiresAt: expiresAt === null ? undefined : new Date(expiresAt),
	}
}
