/**
 * The request messages of a streaming call, kept until the call is committed so that each attempt can send all of them. A message is read from
 * the caller when the first attempt needs it: the transport asks for the next message when it has sent the last one, so the caller is never
 * ahead of the fastest attempt. What the others have not sent yet is kept, up to the limit of the buffer.
 */
import type { BufferLimit } from '../policy/buffer-limit.ts'
import { copyMessage, estimateBytes } from './message-copy.ts'

/** The call that the messages belong to. */
export interface MessagesOwner {
	readonly isCommitted: boolean
	/** A message did not fit into the buffer. The call must be committed. */
	onBufferFull(): void
	/** The caller's messages ended with an error. No attempt can send them. */
	onRequestError(): void
}

export class RequestMessages {
	readonly #owner: MessagesOwner
	readonly #limit: BufferLimit
	readonly #source: AsyncIterable<unknown>
	#iterator: AsyncIterator<unknown> | undefined
	/** The read from the caller that is in flight. */
	#reading: Promise<void> | undefined
	readonly #messages: unknown[] = []
	/** The number of the first message that is still here. */
	#first = 0
	#reservedBytes = 0
	#isDone = false
	#isClosed = false
	#error: { readonly reason: unknown } | undefined

	constructor(owner: MessagesOwner, limit: BufferLimit, source: AsyncIterable<unknown>) {
		this.#owner = owner
		this.#limit = limit
		this.#source = source
	}

	/** Returns the next message of an attempt. */
	async next(reader: MessageReader): Promise<IteratorResult<unknown>> {
		while (!reader.isClosed && !this.#isClosed) {
			const index = reader.position - this.#first
			if (index < this.#messages.length) {
				const value = this.#messages[index]
				reader.position++
				if (this.#owner.isCommitted) this.dropBefore(reader.position)
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
	close(): void {
		this.#isClosed = true
		this.#messages.length = 0
		this.releaseSpace()
	}

	/** Messages are no longer kept for retries. */
	releaseSpace(): void {
		this.#limit.release(this.#reservedBytes)
		this.#reservedBytes = 0
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
			else this.#messages.push(this.#owner.isCommitted ? value : this.#keep(value))
		} catch (reason) {
			this.#error = { reason }
			this.#owner.onRequestError()
		}
		this.#reading = undefined
	}

	/** Returns a copy; the message itself if it does not fit into the buffer. */
	#keep(message: unknown): unknown {
		const bytes = estimateBytes(message)
		if (this.#limit.reserve(bytes, this.#reservedBytes)) {
			this.#reservedBytes += bytes
			return copyMessage(message)
		}
		this.#owner.onBufferFull()
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
