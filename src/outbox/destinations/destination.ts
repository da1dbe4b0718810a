/** Destinations: a handler function, or a handler with options. */
import type { BackoffOptions } from '../../core/backoff/options.ts'
import type { Budget } from '../../core/budget/budget.ts'
import type { CircuitBreakerOptions } from '../../core/circuit-breaker/options.ts'
import type { Classifier } from '../../core/classify/classification.ts'
import { safeGet } from '../../core/classify/safe-get.ts'
import { YaokiError } from '../../core/errors/errors.ts'
import type { Hook } from '../../core/options/hooks.ts'
import type { HttpStatusError } from '../../http/request/status-error.ts'
import type { Message } from '../message/message.ts'
import type { AfterDeadLetter } from '../store/rows.ts'
import type { AttemptLogOptions } from './attempt-log-options.ts'

/**
 * The abort signal and the attempt number of a delivery. A `MessageHandler` gets it as its second argument;
 * pass `signal` to what the handler calls.
 */
export interface DeliveryContext {
	/** Aborted after the timeout, when the relay stops, or when the lease is lost. */
	readonly signal: AbortSignal
	/**
	 * The index of this attempt, from 0. `message.attempts` is the number of attempts: always `attempt + 1`.
	 */
	readonly attempt: number
	/**
	 * Adds facts to the record of this attempt; present only if the destination has an `attemptLog`. Errors
	 * with a status and a body, such as an `HttpError`, are recorded without it.
	 *
	 * @example
	 * const call: MessageHandler = async (message, { signal, attemptLog }) => {
	 * 	const response = await sms.send(message.payload, { signal })
	 * 	attemptLog?.record({ statusCode: response.status, response: response.text })
	 * }
	 */
	readonly attemptLog?:
		| {
				/** Read no more of a response than that. 0 if responses are not stored. */
				readonly maxResponseChars: number
				/** Later facts replace earlier ones. It never throws. */
				record(facts: {
					readonly statusCode?: number | undefined
					readonly response?: string | undefined
				}): void
		  }
		| undefined
}

/**
 * Sends one message. Use it in `destinations` of a `Relay`, or as `deliver` of a `Destination`. If it
 * returns, the message is acked; if it throws, the message is retried, or becomes a dead letter if the error
 * is `permanent`.
 *
 * @example
 * const sendReceipt: MessageHandler = async (message, { signal }) => {
 * 	await mailer.send(message.payload, { signal, idempotencyKey: message.id })
 * }
 */
export type MessageHandler<M extends Message = Message> = unknown extends M['payload']
	? BivariantHandler<M>['deliver']
	: (message: M, context: DeliveryContext) => unknown

/**
 * Without a schema the handler declares the payload type: the parameter of a method is bivariant, so a
 * handler of `Message<string, Order>` is accepted too. With a schema its type must match.
 */
interface BivariantHandler<M extends Message> {
	deliver(message: M, context: DeliveryContext): unknown
}

/** How failed messages are retried. The backoff formula gets the number of failures minus one. */
export interface RelayRetryOptions extends Omit<BackoffOptions, 'maxElapsedMs'> {
	/**
	 * The number of retries after the first attempt. `Infinity` retries until the message's `expiresAt` or
	 * until an operator ends it, and needs a `baseDelayMs` above 0. Default 10.
	 */
	readonly maxRetries?: number | undefined
	/**
	 * Return true to retry after this error; `attempt` counts from 0. Default: retry all but `permanent`
	 * errors.
	 */
	readonly shouldRetry?: Hook<[error: unknown, attempt: number], boolean> | undefined
	/**
	 * Returns a delay that replaces the backoff; undefined for the backoff. Default: the error's `retryAfterMs`
	 * plus jitter, as in core.
	 */
	readonly delayFor?: Hook<[error: unknown, attempt: number], number | undefined> | undefined
	/** Limits retries. If it is exhausted, a retry is postponed, never dropped. Default: no budget. */
	readonly budget?: Budget | undefined
	/** Classifies errors before the package's own classifier. */
	readonly classify?: Classifier | undefined
}

/** A rate limit that all relays share. */
export interface RateOptions {
	/** Messages per interval. */
	readonly limit: number
	/** Default 1,000. */
	readonly intervalMs?: number | undefined
	/** Maximum number of messages sent together after an idle time. Default: `limit`. */
	readonly burst?: number | undefined
}

/** Ordering: one message at a time per key, in the order of enqueuing. */
export interface OrderOptions {
	/**
	 * What happens to later messages of a key when one becomes a dead letter. Default `'block'`: they wait
	 * until it is replayed or discarded.
	 */
	readonly afterDeadLetter?: AfterDeadLetter | undefined
}

/** Options of one destination. The defaults are the relay's. */
export interface DestinationOptions {
	/**
	 * Maximum number of messages in flight per relay; a batch counts as one. Default: the relay's
	 * `maxConcurrent`.
	 */
	readonly maxConcurrent?: number | undefined
	/** Maximum number of messages in flight over all relays. Default: no limit. */
	readonly maxConcurrentAllRelays?: number | undefined
	/** Maximum number of messages per interval over all relays. Default: no limit. */
	readonly rate?: RateOptions | undefined
	/** Timeout of the handler. Default: the relay's `timeoutMs`. */
	readonly timeoutMs?: number | undefined
	/** Default: the relay's. */
	readonly retry?: RelayRetryOptions | undefined
	/**
	 * Options of the circuit breaker, or false for none. All relays share the open state. Default: the relay's.
	 */
	readonly circuitBreaker?: RelayCircuitBreakerOptions | false | undefined
	/** Keeps the order of messages with the same key. Default: false. */
	readonly order?: boolean | OrderOptions | undefined
	/** Keeps a record of each call of the handler. Default: the relay's `attemptLog`. */
	readonly attemptLog?: AttemptLogOptions | boolean | undefined
}

/** When sending to a destination is stopped, and for how long. */
export type RelayCircuitBreakerOptions = Pick<
	CircuitBreakerOptions,
	| 'failureThreshold'
	| 'successThreshold'
	| 'resetTimeoutMs'
	| 'resetBackoff'
	| 'monitorWindowMs'
	| 'errorRateThreshold'
	| 'minimumRequests'
	| 'slowCallMs'
	| 'slowCallRateThreshold'
	| 'windowSize'
	| 'maxRetryAfterMs'
	| 'isFailure'
> & {
	/**
	 * The circuit opens when this many different messages in a row failed permanently, with no success in
	 * between: then the destination is broken, and not the messages. Each relay counts for itself. `Infinity`
	 * disables it. Default 5.
	 */
	readonly permanentThreshold?: number | undefined
}

/**
 * A message handler, `deliver`, with options such as `retry`, `rate` and `order`. Use it in `destinations` of
 * a `Relay` in place of a plain function.
 */
export interface Destination<M extends Message = Message> extends DestinationOptions {
	readonly deliver: MessageHandler<M>
}

/**
 * A destination as functions return it. Unlike the interface it is compared member by member, so that a
 * destination for declared payloads fits an outbox without topics, as a handler does. `DestinationOptions` is not
 * exported, so declarations of users could not name it.
 */
export type DestinationOf<M extends Message> = Omit<Destination, 'deliver'> & {
	readonly deliver: MessageHandler<M>
}

const IN_PROGRESS = 'YAOKI_OUTBOX_IN_PROGRESS'
const DISABLED = 'YAOKI_OUTBOX_DESTINATION_DISABLED'
const WITHOUT_SECRET = 'YAOKI_WEBHOOK_SECRET'

/**
 * The receiver is still processing an earlier attempt of the same message, which it signals by a 409 with
 * Retry-After. Unlike other 409s it is transient. It has no `cause`, because the status of the cause would be
 * classified as permanent.
 */
export class OutboxInProgressError extends YaokiError {
	override readonly name = 'OutboxInProgressError'
	readonly retryAfterMs: number | undefined

	constructor({ statusCode, retryAfterMs }: HttpStatusError) {
		const text = `the receiver is still processing an earlier attempt (HTTP ${statusCode})`
		super(IN_PROGRESS, text)
		this.retryAfterMs = retryAfterMs
	}
}

/**
 * The destination is disabled, for example an endpoint that a customer has disabled. The circuit opens, and the
 * messages stay queued without using attempts. A pause would be a second record that a crash could leave behind:
 * a probe asks again, and finds out that the destination is enabled.
 */
export class OutboxDestinationDisabledError extends YaokiError {
	override readonly name = 'OutboxDestinationDisabledError'

	constructor(what: string, options?: ErrorOptions) {
		super(DISABLED, `${what} is disabled, so its messages stay queued`, options)
	}
}

/** Compares the code: `instanceof` throws for some proxies, and does not know errors of another copy of the package. */
export const isOutboxInProgress = (error: unknown): error is OutboxInProgressError =>
	safeGet(error, 'code') === IN_PROGRESS

export const isDestinationDisabled = (error: unknown): error is OutboxDestinationDisabledError =>
	safeGet(error, 'code') === DISABLED

/** True if this relay cannot sign for an endpoint: another attempt would fail as well until the program has the key. */
export const isWithoutSecret = (error: unknown): boolean => safeGet(error, 'code') === WITHOUT_SECRET
