/**
 * The outgoing messages of a call, kept until the call is committed so that each attempt can send all of
 * them. They are kept as bytes: an application may change a message after it was sent, and a retry must not
 * send the change. Without this, every attempt would also serialize them again.
 */
import { KeptMessages } from '../policy/kept-messages.ts'
import type { GrpcCall, GrpcMessageContext, GrpcMethodDefinition, Serialize } from './grpc-types.ts'

/** A message takes memory even if it is empty, and a stream may have any number of them. */
const MIN_MESSAGE_BYTES = 100

export class OutgoingMessage {
	readonly message: unknown
	/** Whether to compress it; bits of grpc-js. */
	readonly flags: number | undefined
	/** Undefined if the message is not kept for retries. */
	bytes: Uint8Array | undefined
	following: OutgoingMessage | undefined
	/** Called when the caller may write the next message; undefined if it may already. */
	#callback: GrpcMessageContext['callback']

	constructor(message: unknown, { callback, flags }: GrpcMessageContext) {
		this.message = message
		this.flags = flags
		this.#callback = callback
	}

	get isAcknowledged(): boolean {
		return !this.#callback
	}

	/** The caller may write the next message. Only the first time counts. */
	acknowledge(error?: Error | null): void {
		const callback = this.#callback
		this.#callback = undefined
		callback?.(error)
	}

	/** The same in a microtask, because the caller does not expect it before `write` returns. */
	acknowledgeSoon(): void {
		if (this.#callback) queueMicrotask(() => this.acknowledge())
	}
}

/** Lets grpc-js use bytes that were serialized before. */
export class MessageSerializer {
	readonly #wrapped = new WeakMap<Serialize, Serialize>()
	readonly #wrappers = new WeakSet<Serialize>()
	#sending: OutgoingMessage | undefined

	/** Serializes a message of a call. From now on the call uses the bytes of messages that `send` sends. */
	serialize(definition: GrpcMethodDefinition, message: unknown): Uint8Array {
		const { requestSerialize } = definition
		if (!this.#wrappers.has(requestSerialize)) definition.requestSerialize = this.#wrap(requestSerialize)
		return requestSerialize(message)
	}

	send(call: GrpcCall, outgoing: OutgoingMessage, context: GrpcMessageContext): void {
		this.#sending = outgoing.bytes && outgoing
		try {
			call.sendMessageWithContext(context, outgoing.message)
		} finally {
			this.#sending = undefined
		}
	}

	/** One function per method, because grpc-js creates a definition for every call from the same functions. */
	#wrap(serialize: Serialize): Serialize {
		const known = this.#wrapped.get(serialize)
		if (known) return known
		const wrapper: Serialize = (message) => {
			const sending = this.#sending
			// An interceptor further in may send another message, or send it later: then it is serialized as it is
			// now.
			return sending?.bytes && sending.message === message ? sending.bytes : serialize(message)
		}
		this.#wrapped.set(serialize, wrapper)
		this.#wrappers.add(wrapper)
		return wrapper
	}
}

/** The messages of a call, as a linked list: one that no attempt needs anymore is garbage. */
export class MessageBuffer extends KeptMessages {
	/** The first message, for attempts that start later; undefined after `dropFirst`. */
	first: OutgoingMessage | undefined
	#last: OutgoingMessage | undefined
	/** The first message that may not be acknowledged yet. */
	#waiting: OutgoingMessage | undefined

	push(outgoing: OutgoingMessage): void {
		if (this.#last) this.#last.following = outgoing
		else this.first = outgoing
		this.#last = outgoing
		this.#waiting ??= outgoing
		while (this.#waiting?.isAcknowledged) this.#waiting = this.#waiting.following
	}

	/** Serializes a message and keeps its bytes for retries. Returns false if they do not fit. */
	keep(outgoing: OutgoingMessage, definition: GrpcMethodDefinition, serializer: MessageSerializer): boolean {
		const bytes = serializer.serialize(definition, outgoing.message)
		if (!this.reserve(Math.max(bytes.length, MIN_MESSAGE_BYTES))) return false
		outgoing.bytes = bytes
		return true
	}

	/** No more attempts start. */
	dropFirst(): void {
		this.first = undefined
	}

	/** Acknowledges the messages that were never written: the caller may still wait for that. */
	override close(): void {
		super.close()
		this.dropFirst()
		for (; this.#waiting; this.#waiting = this.#waiting.following) this.#waiting.acknowledgeSoon()
	}
}
