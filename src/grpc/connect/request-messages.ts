/**
 * The request messages of a streaming call, kept until the call is committed so that each attempt can send
 * all of them. A message is read from the caller when the first attempt needs it: the transport asks for the
 * next message when it has sent the last one, so the caller is never ahead of the fastest attempt. What the
 * others have not sent yet is kept, up to the limit of the buffer.
 */
import { type BufferLimit, KeptMessages } from '../policy/kept-messages.ts'
import type { Rpc } from '../policy/rpc.ts'
import { copyMessage, estimateBytes } from './message-copy.ts'

export class RequestMessages extends KeptMessages {
	readonly #rpc: Rpc
	readonly #onBufferFull: () => void
	readonly #source: AsyncIterable<unknown>
	#iterator: AsyncIterator<unknown> | undefined
	/** The read from the caller that is in flight. */
	#reading: Promise<void> | undefined
	readonly #messages: unknown[] = []
	/** The number of the first message that is still here. */
	#first = 0
	#isDone = false
	#isClosed = false
	#error: { readonly reason: unknown } | undefined

	/** `onBufferFull` is called if a message does not fit into the buffer. It must commit the call. */
	constructor(rpc: Rpc, limit: BufferLimit, source: AsyncIterable<unknown>, onBufferFull: () => void) {
		super(limit)
		this.#rpc = rpc
		this.#onBufferFull = onBufferFull
		this.#source = source
	}

	/** Returns the next message of an attempt. */
	async next(reader: MessageReader): Promise<IteratorResult<unknown>> {
		while (!reader.isClosed && !this.#isClosed) {
			const index = reader.position - this.#first
			if (index < this.#messages.length) {
				const value = this.#messages[index]
				reader.position++
				if (this.#rpc.isCommitted) this.dropBefore(reader.position)
				return { done: false, value }
			}
			if (this.#error) throw this.#error.reason
			if (this.#isDone) break
			this.#reading ??= this.#read()
			await this.#reading
		}
		return { done: true, value: undefined }
	}

	/** The call has ended. A message that the caller is about to yield is not kept. */
	override close(): void {
		this.#isClosed = true
		this.#messages.length = 0
		super.close()
	}

	/** Forgets the messages before this number. */
	dropBefore(number: number): void {
		const count = number - this.#first
		if (count <= 0) return
		this.#messages.splice(0, count)
		this.#first = number
	}

	/** Never rejects. */
	async #read(): Promise<void> {
		try {
			this.#iterator ??= this.#source[Symbol.asyncIterator]()
			const { done, value } = await this.#iterator.next()
			if (this.#isClosed) return
			if (done) this.#isDone = true
			else this.#messages.push(this.#rpc.isCommitted ? value : this.#keep(value))
		} catch (reason) {
			this.#error = { reason }
			// No attempt can send the caller's messages.
			this.#rpc.isCommitted = true
		}
		this.#reading = undefined
	}

	/** Returns a copy; the message itself if it does not fit into the buffer. */
	#keep(message: unknown): unknown {
		if (this.reserve(estimateBytes(message))) return copyMessage(message)
		this.#onBufferFull()
		return message
	}
}

/** The messages as one attempt reads them. */
export class MessageReader implements AsyncIterableIterator<unknown> {
	readonly #messages: RequestMessages
	/** The number of the next message. */
	position = 0
	isClosed = false

	constructor(messages: RequestMessages) {
		this.#messages = messages
	}

	[Symbol.asyncIterator](): this {
		return this
	}

	next(): Promise<IteratorResult<unknown>> {
		return this.#messages.next(this)
	}

	/** The transport stops sending. The caller's messages remain for the other attempts. */
	return(): Promise<IteratorResult<unknown>> {
		this.isClosed = true
		return Promise.resolve({ done: true, value: undefined })
	}

	throw(error: unknown): Promise<IteratorResult<unknown>> {
		this.isClosed = true
		return Promise.reject(error)
	}
}

/** The request message of a unary call. */
export class KeptMessage extends KeptMessages {
	message: unknown

	/** Keeps a copy of the message. Returns false if it does not fit into the buffer. */
	keep(message: unknown): boolean {
		if (!this.reserve(estimateBytes(message))) return false
		this.message = copyMessage(message)
		return true
	}
}
