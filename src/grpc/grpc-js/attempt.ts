import type { Runtime } from '../../core/runtime/runtime.ts'
import type { GrpcCall, GrpcListener, GrpcMessageContext, GrpcMetadata, GrpcStatus } from './grpc-types.ts'
import type { MessageBuffer, MessageSerializer, OutgoingMessage } from './message-buffer.ts'

/** The call that an attempt belongs to. */
export interface AttemptOwner {
	readonly messages: MessageBuffer
	readonly serializer: MessageSerializer
	/** False if the call has a single message. */
	readonly isRequestStream: boolean
	/** True if the caller has sent all messages. */
	readonly isHalfClosed: boolean
	onMetadata(attempt: Attempt, metadata: GrpcMetadata): void
	onMessage(attempt: Attempt, message: unknown): void
	/** `isDiscarded`: the call no longer needed the attempt. */
	onStatus(attempt: Attempt, status: GrpcStatus, isDiscarded: boolean): void
	/** An attempt has passed a message to grpc-js. */
	onSent(): void
}

export const NO_CONTEXT: GrpcMessageContext = {}

/** One attempt of a call: sends its messages to a call of grpc-js, and is the listener of that call. */
export class Attempt implements GrpcListener {
	readonly #owner: AttemptOwner
	readonly call: GrpcCall
	/** The run of the call that started it; 0 for one that has `end`. */
	readonly run: number
	/** Its number among all attempts of the interceptor, from 1. */
	readonly number: number
	/** Called with the failure, or undefined for OK. */
	readonly end: ((failure: Error | undefined) => void) | undefined
	/**
	 * Response headers without the content type of gRPC, such as a proxy's page has. The caller gets them
	 * with a message, or if the call ends with this attempt.
	 */
	foreignHeaders: GrpcMetadata | undefined
	/** The number of messages that were sent. */
	sentMessages = 0
	#last: OutgoingMessage | undefined
	/** True until grpc-js has acknowledged the last message. */
	#isWriting = false
	#isSending = false
	#isHalfClosed = false
	/** True if nothing may be sent anymore, and nothing that arrives counts. */
	#isOver = false
	#isEnded = false
	/** False as long as grpc-js has not reacted to anything. */
	#isConfirmed = false

	constructor(
		owner: AttemptOwner,
		call: GrpcCall,
		number: number,
		run: number,
		end?: (failure: Error | undefined) => void,
	) {
		this.#owner = owner
		this.call = call
		this.number = number
		this.run = run
		this.end = end
	}

	/** Sends what the caller has sent so far. grpc-js takes one message at a time and would lose the others. */
	sendPending(): void {
		// A message that is acknowledged immediately continues the loop instead of starting another one.
		if (this.#isSending) return
		this.#isSending = true
		try {
			while (this.#sendNext());
		} finally {
			this.#isSending = false
		}
	}

	/** Returns true if there may be something else to send. */
	#sendNext(): boolean {
		// The half-close waits too: grpc-js 1.12.0 to 1.14.2 ends the stream without a message that it is still
		// writing.
		if (this.#isOver || this.#isWriting) return false
		const { messages, isHalfClosed } = this.#owner
		const next = this.#last ? this.#last.following : messages.first
		if (next) {
			this.#send(next)
			return true
		}
		if (isHalfClosed && !this.#isHalfClosed) {
			this.#isHalfClosed = true
			this.call.halfClose()
		}
		return false
	}

	#send(outgoing: OutgoingMessage): void {
		const { serializer, isRequestStream } = this.#owner
		this.#last = outgoing
		this.sentMessages++
		// A single message needs no flow control.
		this.#isWriting = isRequestStream
		if (!isRequestStream) outgoing.acknowledgeSoon()
		serializer.send(this.call, outgoing, this.#contextOf(outgoing, isRequestStream))
		if (!this.#isOver) this.#owner.onSent()
	}

	#contextOf(outgoing: OutgoingMessage, isRequestStream: boolean): GrpcMessageContext {
		const { flags } = outgoing
		if (!isRequestStream) return flags === undefined ? NO_CONTEXT : { flags }
		const callback = (error?: Error | null) => this.#onWritten(outgoing, error)
		return flags === undefined ? { callback } : { callback, flags }
	}

	#onWritten(outgoing: OutgoingMessage, error: Error | null | undefined): void {
		if (this.#isOver || this.#last !== outgoing) return
		this.#isConfirmed = true
		this.#isWriting = false
		outgoing.acknowledge(error)
		this.sendPending()
	}

	startRead(): void {
		if (!this.#isOver) this.call.startRead()
	}

	/** The call no longer needs this attempt. */
	cancel(code: number, details: string, runtime: Runtime): void {
		this.#isOver = true
		const cancel = () => this.call.cancelWithStatus(code, details)
		cancel()
		// grpc-js sends a request that is cancelled in the moment of its start, and then nothing would end it.
		if (!this.#isConfirmed) runtime.setTimer(0, cancel)
	}

	onReceiveMetadata(metadata: GrpcMetadata): void {
		this.#isConfirmed = true
		if (!this.#isOver) this.#owner.onMetadata(this, metadata)
	}

	onReceiveMessage(message: unknown): void {
		// Before a status without a message, grpc-js reports null for calls with a single response.
		if (!this.#isOver && message !== null) this.#owner.onMessage(this, message)
	}

	onReceiveStatus(status: GrpcStatus): void {
		if (this.#isEnded) return
		this.#isEnded = true
		const isDiscarded = this.#isOver
		this.#isOver = true
		this.#owner.onStatus(this, status, isDiscarded)
	}
}
