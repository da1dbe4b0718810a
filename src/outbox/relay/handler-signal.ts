/** The AbortSignal of a call of a handler, and the errors of the relay that abort it. */
import { safeGet } from '../../core/classify/safe-get.ts'
import { TimeoutError, YaokiError } from '../../core/errors/errors.ts'

/**
 * The lease of a message expired while its handler ran: another relay may be sending the message. It is
 * `signal.reason` in the handler. End the handler; receivers must detect duplicates by the id of the message.
 */
export class OutboxLeaseLostError extends YaokiError {
	override readonly name = 'OutboxLeaseLostError'
	readonly messageId: string

	constructor(messageId: string) {
		const text = `delivery aborted: the lease of message ${messageId} expired, and another relay may be sending it`
		super('YAOKI_OUTBOX_LEASE_LOST', text)
		this.messageId = messageId
	}
}

const RELAY_STOPPED = 'YAOKI_RELAY_STOPPED'

/**
 * The relay stopped before a delivery had finished; the message will be sent again. It is `signal.reason` in
 * the handler, and `relay.start()` rejects with it if `stop()` interrupts the start.
 */
export class RelayStoppedError extends YaokiError {
	override readonly name = 'RelayStoppedError'

	constructor() {
		super(RELAY_STOPPED, 'delivery aborted: the relay is shutting down')
	}
}

/** Compares the code, because `instanceof` throws for some proxies that a handler may throw. */
export const isRelayStopped = (error: unknown): boolean => safeGet(error, 'code') === RELAY_STOPPED

/** The AbortSignal of a handler, created when the handler reads it. */
export class HandlerSignal {
	#controller: AbortController | undefined
	#abortReason: unknown

	get signal(): AbortSignal {
		this.#controller ??= new AbortController()
		if (this.#abortReason !== undefined) this.#controller.abort(this.#abortReason)
		return this.#controller.signal
	}

	abort(reason: unknown): void {
		this.#abortReason ??= reason
		this.#controller?.abort(this.#abortReason)
	}

	get isTimedOut(): boolean {
		return this.#abortReason instanceof TimeoutError
	}

	/** Returns true if the handler failed because the relay aborted it while stopping. */
	isStoppedBy(error: unknown): boolean {
		const reason = this.#abortReason
		if (!(reason instanceof RelayStoppedError)) return false
		return error === reason || safeGet(error, 'cause') === reason || safeGet(error, 'name') === 'AbortError'
	}
}
