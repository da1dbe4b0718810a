/** A message as the user sees it: what is handed over, what a handler gets, and what can be read about it. */
import type { Jsonified } from './jsonified.ts'
import type { StandardSchema } from './standard-schema.ts'

/** A schema per topic. */
export type Topics = Readonly<Record<string, StandardSchema>>

type InputOf<Schema> = Schema extends StandardSchema<infer Input, unknown> ? Input : unknown
type OutputOf<Schema> = Schema extends StandardSchema<infer _, infer Output> ? Output : unknown

/** What `enqueue` takes: with topics one of them with its payload, without any topic and any payload that JSON can hold. */
export type MessageFor<T extends Topics> = AnyOf<{
	// Renamed to what they are called already, for a mapped type with a renaming is compared by what is in it: so an outbox with topics may be
	// handed to whoever takes an `Outbox`.
	[Topic in keyof T & string as `${Topic}`]: NewMessage<Topic, InputOf<T[Topic]>>
}>

/**
 * What a handler gets: the message of the topic that the destination is named like, or of any topic. Its payload is the schema's output as it
 * comes back from JSON.
 */
export type DeliveredFor<T extends Topics, Name> = string extends keyof T
	? Message
	: Name extends keyof T & string
		? Message<Name, Jsonified<OutputOf<T[Name]>>>
		: { [Topic in keyof T & string]: Message<Topic, Jsonified<OutputOf<T[Topic]>>> }[keyof T & string]

type AnyOf<Messages> = Messages[keyof Messages]

/** A message to be sent. */
export interface NewMessage<Topic extends string = string, Payload = unknown> {
	/** What it is about, such as `order.created`. */
	readonly topic: Topic
	/** Where it goes: a name that relays know. Default: named like the topic. */
	readonly destination?: string | undefined
	/** What it belongs to, such as an order's id. Destinations that keep order keep it for each key. */
	readonly key?: string | undefined
	/** Anything that JSON can hold. */
	readonly payload: Payload
	readonly headers?: Readonly<Record<string, string>> | undefined
	/** A second message with the same dedupe key is not enqueued as long as the first is known: waiting, in flight, dead or kept as history. */
	readonly dedupeKey?: string | undefined
	/** Not sent before this time, by the database's clock. */
	readonly notBefore?: Date | undefined
	/** Not sent from this time on; it becomes a dead letter instead. */
	readonly expiresAt?: Date | undefined
	/** How many retries may follow the first attempt. Default: the destination's. */
	readonly maxRetries?: number | undefined
}

/** What became of a message that was handed over. */
export interface EnqueueResult {
	/** The id of the message, or of the earlier one that has the same dedupe key. */
	readonly id: string
	/** True when it was not enqueued, for there is one with this dedupe key. */
	readonly isDuplicate: boolean
}

/** A message as a handler gets it. */
export interface Message<Topic extends string = string, Payload = unknown> {
	/** The same at every attempt: a receiver that keeps it can tell a repeat. */
	readonly id: string
	readonly topic: Topic
	readonly destination: string
	readonly key: string | undefined
	readonly payload: Payload
	readonly headers: Readonly<Record<string, string>>
	/** How many attempts there were, this one included. */
	readonly attempts: number
	readonly createdAt: Date
	readonly expiresAt: Date | undefined
}

export type MessageStatus = 'pending' | 'processing' | 'sent' | 'dead'

/** Why a message became a dead letter, or why it left. */
export type DeadLetterCause =
	/** It was tried as often as it may be. */
	| 'retries-exhausted'
	/** No retry would have helped. */
	| 'permanent'
	/** Its time was over. */
	| 'expired'
	/** The process that worked on it died, again and again. */
	| 'crashed'
	/** It waits behind a dead letter with the same key. */
	| 'predecessor-dead'

/** What went wrong at the latest attempt, short. */
export interface StoredError {
	/** The error's name. */
	readonly type: string
	/** Its first line, cut to a sane length. */
	readonly message: string
	/** The same for failures of the same kind, whatever ids and numbers are in their texts. */
	readonly fingerprint: string
}

/** All that is known about a message. */
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
	readonly maxRetries: number | undefined
	/** When it is due, or was. */
	readonly nextRetryAt: Date | undefined
	readonly lastAttemptAt: Date | undefined
	readonly lastError: StoredError | undefined
	readonly lockedAt: Date | undefined
	readonly lockedBy: string | undefined
	/** Until when the relay that works on it is believed to be alive. */
	readonly leaseUntil: Date | undefined
	readonly createdAt: Date
	readonly expiresAt: Date | undefined
	/** How often a process died while it had this message. */
	readonly crashes: number
	/** When it was sent or became a dead letter. */
	readonly endedAt: Date | undefined
	readonly cause: DeadLetterCause | undefined
}
