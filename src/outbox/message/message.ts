/** Messages as users see them: to enqueue, to handle, and to read about. */

import type { Jsonified } from '../../core/json/jsonified.ts'
import type { StandardSchema } from '../../core/options/standard-schema.ts'

/** A schema per topic: the option `topics` of an `Outbox`. Payloads are validated and typed by it. */
export interface Topics {
	readonly [topic: string]: StandardSchema
}

type InputOf<Schema> = Schema extends StandardSchema<infer Input, unknown> ? Input : unknown
type OutputOf<Schema> = Schema extends StandardSchema<infer _, infer Output> ? Output : unknown

/**
 * What `enqueue` accepts: with topics one of them with its payload, otherwise any topic with any JSON
 * payload.
 */
export type MessageFor<T extends Topics> = AnyOf<{
	// A mapped type with key remapping is compared structurally, which makes an outbox with topics assignable
	// to `Outbox`.
	[Topic in keyof T & string as `${Topic}`]: NewMessage<Topic, InputOf<T[Topic]>>
}>

/**
 * What a handler receives: the message of the topic with the destination's name, or of any topic. Its payload
 * is the schema's output after a round trip through JSON.
 */
export type DeliveredFor<T extends Topics, Name> = string extends keyof T
	? Message
	: Name extends keyof T & string
		? Message<Name, Jsonified<OutputOf<T[Name]>>>
		: { [Topic in keyof T & string]: Message<Topic, Jsonified<OutputOf<T[Topic]>>> }[keyof T & string]

type AnyOf<Messages> = Messages[keyof Messages]

/** A message to enqueue, the first argument of `outbox.enqueue`. */
export interface NewMessage<Topic extends string = string, Payload = unknown> {
	/** The kind of message, for example `order.created`. */
	readonly topic: Topic
	/** The destination that relays deliver it to. Default: the topic. */
	readonly destination?: string | undefined
	/**
	 * What it belongs to, for example an order id. Destinations with `order` deliver messages of a key one by
	 * one.
	 */
	readonly key?: string | undefined
	/** Any JSON value. */
	readonly payload: Payload
	readonly headers?: Readonly<Record<string, string>> | undefined
	/**
	 * A message is not enqueued if another one with the same dedupe key is queued, in flight or dead, or was
	 * due less than `dedupeForMs` ago.
	 */
	readonly dedupeKey?: string | undefined
	/** Not sent before this time, by the database's clock. */
	readonly notBefore?: Date | undefined
	/** Not sent from this time on; it becomes a dead letter instead. */
	readonly expiresAt?: Date | undefined
	/**
	 * Maximum number of retries after the first attempt; `Infinity` retries until `expiresAt` or until an
	 * operator ends it. Default: the destination's limit.
	 */
	readonly maxRetries?: number | undefined
}

/** What `outbox.enqueue` returns: the id of the message, and whether it is a duplicate. */
export interface EnqueueResult {
	/** The id of the message, or of the earlier one with the same dedupe key. */
	readonly id: string
	/** True if it was not enqueued because of its dedupe key. */
	readonly isDuplicate: boolean
}

/** The message that `outbox.fanOut` has written for one of its destinations. */
export interface FanOutResult extends EnqueueResult {
	readonly destination: string
}

/** A message as a `MessageHandler` receives it, its first argument. */
export interface Message<Topic extends string = string, Payload = unknown> {
	/** The same for every attempt, so receivers can use it to detect duplicates. */
	readonly id: string
	readonly topic: Topic
	readonly destination: string
	readonly key: string | undefined
	/**
	 * The position in enqueue order: greater than for all earlier messages of the same destination and key.
	 * The same for every attempt. Gaps are normal, because all messages of the outbox share the numbers.
	 */
	readonly sequence: number
	readonly payload: Payload
	readonly headers: Readonly<Record<string, string>>
	/** The number of attempts, including this one: 1 for the first. `context.attempt` is its index, from 0. */
	readonly attempts: number
	readonly createdAt: Date
	readonly expiresAt: Date | undefined
}

/**
 * Where a message is: queued, being sent by a relay, sent, or a dead letter. Read it as `status` of a
 * `MessageRecord`, or use it in a `MessageFilter`.
 */
export type MessageStatus = 'pending' | 'processing' | 'sent' | 'dead'

/**
 * Why a message became a dead letter: `cause` of a `MessageRecord`, of a `DeadLetterGroup` and of the event
 * `relay_dead_letter`.
 */
export type DeadLetterCause =
	/** All retries failed. */
	| 'retries-exhausted'
	/** The error was permanent. */
	| 'permanent'
	/** `expiresAt` passed before it was sent. */
	| 'expired'
	/** The process crashed repeatedly while it had the message. */
	| 'crashed'
	/** An earlier message with the same key became a dead letter. */
	| 'predecessor-dead'

/**
 * The error of the latest failed attempt: `lastError` of a `MessageRecord`. For authors of stores: it is part
 * of a `Settlement` and of a `StoredMessage`.
 */
export interface StoredError {
	/** The error's name. */
	readonly type: string
	/** The first line of its message, truncated. */
	readonly message: string
	/** The same for failures of the same kind, whatever ids and numbers their messages contain. */
	readonly fingerprint: string
}

/**
 * Everything that is known about a message. `outbox.find`, `outbox.list` and `outbox.dead.list` return it.
 */
export interface MessageRecord {
	readonly id: string
	readonly topic: string
	readonly destination: string
	readonly key: string | undefined
	readonly payload: unknown
	readonly headers: Readonly<Record<string, string>>
	readonly dedupeKey: string | undefined
	readonly status: MessageStatus
	readonly attempts: number
	/** Undefined if the destination's limit applies. `Infinity` becomes null in JSON. */
	readonly maxRetries: number | undefined
	/** When it is due, or was. */
	readonly nextRetryAt: Date | undefined
	readonly lastAttemptAt: Date | undefined
	readonly lastError: StoredError | undefined
	readonly lockedAt: Date | undefined
	readonly lockedBy: string | undefined
	/** When the lease of the relay that claimed it expires. */
	readonly leaseUntil: Date | undefined
	readonly createdAt: Date
	readonly expiresAt: Date | undefined
	/** The number of crashes of processes that had claimed it. */
	readonly crashes: number
	/** When it was sent or became a dead letter. */
	readonly endedAt: Date | undefined
	readonly cause: DeadLetterCause | undefined
}
