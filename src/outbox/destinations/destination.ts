/** Where messages go: a function, or a function with settings of its own. */
import type { BackoffOptions } from '../../core/backoff/options.ts'
import type { Budget } from '../../core/budget/budget.ts'
import type { CircuitBreakerOptions } from '../../core/circuit-breaker/options.ts'
import type { Classifier } from '../../core/classify/classification.ts'
import type { Message } from '../message/message.ts'
import type { AfterDeadLetter } from '../store/rows.ts'

/** What a handler is told besides its message. */
export interface DeliveryContext {
	/** Aborted when the time is over, when the relay must stop, or when another relay has taken the message over. */
	readonly signal: AbortSignal
	/** Which attempt this is, from 0. */
	readonly attempt: number
}

/**
 * Sends one message. When it returns, the message is sent; when it throws, it is tried again, or becomes a dead letter where that is
 * no use (`permanent`).
 *
 * @example
 * const sendReceipt: Handler = async (message, { signal }) => {
 * 	await mailer.send(message.payload, { signal, idempotencyKey: message.id })
 * }
 */
export type Handler<M extends Message = Message> = unknown extends M['payload']
	? Trusting<M>['deliver']
	: (message: M, context: DeliveryContext) => unknown

/**
 * Where no schema says what a payload is, a handler may: as a method its parameter is compared in both directions, so that one of
 * `Message<string, Order>` is taken as well. With a schema it must fit.
 */
interface Trusting<M extends Message> {
	deliver(message: M, context: DeliveryContext): unknown
}

/** How failed messages are retried: the n-th failure waits by the formula's attempt n - 1. */
export interface RelayRetryOptions extends Omit<BackoffOptions, 'maxElapsedMs'> {
	/** Is this error worth another try? `attempt` from 0. Default: all but `permanent`. */
	readonly shouldRetry?: ((error: unknown, attempt: number) => boolean) | undefined
	/** A wait that beats the backoff; undefined leaves it to the backoff. Default: the error's `retryAfterMs`. */
	readonly delayFor?: ((error: unknown, attempt: number) => number | undefined) | undefined
	/** What retries may cost in all. Without budget a retry is put off, and none is given up for it. Default: no budget. */
	readonly budget?: Budget | undefined
	/** Your own knowledge about errors, in front of the toolkit's. */
	readonly classify?: Classifier | undefined
}

/** So many messages in each interval, all relays together. */
export interface RateOptions {
	readonly limit: number
	/** Default 1,000. */
	readonly intervalMs?: number | undefined
	/** How many at once after a pause. Default: `limit`. */
	readonly burst?: number | undefined
}

/** Is order kept? For each key one message at a time, in the order of enqueuing. */
export interface OrderOptions {
	/** What a message that can not be sent does to those behind it with the same key. Default `'block'`: they wait until it was replayed or discarded. */
	readonly afterDeadLetter?: AfterDeadLetter | undefined
}

/** What holds for one destination. What is left out is the relay's. */
export interface DestinationOptions {
	/** How many messages are sent at a time by each relay. Default: the relay's `concurrency`. */
	readonly concurrency?: number | undefined
	/** How many are sent at a time by all relays together. Default: no limit. */
	readonly maxConcurrent?: number | undefined
	/** How many are sent in a time by all relays together. Default: no limit. */
	readonly rate?: RateOptions | undefined
	/** How long a handler may take. Default: the relay's `timeoutMs`. */
	readonly timeoutMs?: number | undefined
	/** Default: the relay's. */
	readonly retry?: RelayRetryOptions | undefined
	/** When a destination is left alone; false for never. Its open state is shared by all relays. Default: the relay's. */
	readonly breaker?: BreakerOptions | false | undefined
	/** Keeps order for each key. Default: false. */
	readonly order?: boolean | OrderOptions | undefined
}

/** When a destination is left alone, and for how long. */
export type BreakerOptions = Pick<
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
>

/** A handler with settings of its own. */
export interface Destination<M extends Message = Message> extends DestinationOptions {
	readonly deliver: Handler<M>
}
