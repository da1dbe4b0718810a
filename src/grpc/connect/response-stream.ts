/**
 * The response messages of a streaming call on their way to the caller. The call ends when the caller has
 * read the last one, and the caller receives the end after that: statistics, the bulkhead and `explain` then
 * show it already.
 */

import type { Runtime } from '../../core/runtime/runtime.ts'
import { createRegistry } from '../../core/runtime/system.ts'

/** The call that the response belongs to. */
export interface StreamOwner {
	/** A message was read. */
	onStreamMessage?(): void
	/** The last message was read. */
	onStreamEnd(): void
	onStreamError(error: unknown): void
	/** The caller stops reading. */
	onStreamStop(): void
}

interface Reading {
	resolve(result: IteratorResult<unknown>): void
	reject(error: unknown): void
}

const END: IteratorResult<unknown> = { done: true, value: undefined }

export class ResponseStream {
	readonly #owner: StreamOwner
	readonly #source: AsyncIterator<unknown>
	/** The first message, if it was asked for already. */
	#first: Promise<IteratorResult<unknown>> | undefined
	/** The reads of the caller that wait for a message. */
	#readings: Reading[] = []
	#isOver = false
	#error: { readonly reason: unknown } | undefined

	constructor(owner: StreamOwner, source: AsyncIterator<unknown>, first?: Promise<IteratorResult<unknown>>) {
		this.#owner = owner
		this.#source = source
		this.#first = first
	}

	/** Returns the stream for the caller. If the caller drops it before its end, the call is cancelled. */
	open(): AsyncIterable<unknown> {
		const reader = new StreamReader(this)
		unused ??= createRegistry((stream) => stream.stop())
		unused?.register(reader, this, this)
		return reader
	}

	/** The call has ended with OK. */
	finish(): void {
		if (this.#isOver) return
		this.#end()
		for (const { resolve } of this.#readings.splice(0)) resolve(END)
	}

	/** The call has ended with this error. */
	fail(error: unknown): void {
		if (this.#isOver) return
		this.#end()
		const [first, ...others] = this.#readings.splice(0)
		if (first) first.reject(error)
		else this.#error = { reason: error }
		for (const { resolve } of others) resolve(END)
	}

	/** @internal */
	read(): Promise<IteratorResult<unknown>> {
		if (this.#isOver) {
			const error = this.#error
			this.#error = undefined
			return error ? Promise.reject(error.reason) : Promise.resolve(END)
		}
		return new Promise((resolve, reject) => {
			const reading = { resolve, reject }
			this.#readings.push(reading)
			void this.#readSource(reading)
		})
	}

	/** @internal */
	stop(): void {
		if (this.#isOver) return
		this.finish()
		this.#owner.onStreamStop()
		// The transport ends its request because its signal was aborted.
		this.#source.return?.().catch(() => {})
	}

	async #readSource(reading: Reading): Promise<void> {
		const first = this.#first
		this.#first = undefined
		try {
			const result = await (first ?? this.#source.next())
			const index = this.#readings.indexOf(reading)
			// The call has ended meanwhile.
			if (index < 0) return
			if (result.done) this.#owner.onStreamEnd()
			else {
				this.#readings.splice(index, 1)
				this.#owner.onStreamMessage?.()
				reading.resolve(result)
			}
		} catch (error) {
			if (this.#readings.includes(reading)) this.#owner.onStreamError(error)
		}
	}

	#end(): void {
		this.#isOver = true
		unused?.unregister(this)
	}
}

/** The call has no reference to it, so it is collected when the caller does not use it anymore. */
class StreamReader implements AsyncIterableIterator<unknown> {
	readonly #stream: ResponseStream

	constructor(stream: ResponseStream) {
		this.#stream = stream
	}

	[Symbol.asyncIterator](): this {
		return this
	}

	next(): Promise<IteratorResult<unknown>> {
		return this.#stream.read()
	}

	return(): Promise<IteratorResult<unknown>> {
		this.#stream.stop()
		return Promise.resolve(END)
	}

	throw(error: unknown): Promise<IteratorResult<unknown>> {
		this.#stream.stop()
		return Promise.reject(error)
	}
}

/** A caller that leaves a `for await` loop early does not end the call: Connect hides `return` from it. */
let unused: FinalizationRegistry<ResponseStream> | undefined

/**
 * gRPC commits a call when the headers of the response arrive. Connect sends the status of a failed stream
 * after the headers, in the body, and its servers do so for gRPC too. So the headers are held until the first
 * message or the end of the stream has arrived, but not for long: a server that sends nothing else has sent
 * them on purpose, and the caller may wait for them before it sends more.
 */
const HEADER_WAIT_MS = 100

/** Resolves with the first message, the end, or the time limit. Rejects if the stream begins to fail. */
export function untilCommitted(first: Promise<unknown>, runtime: Runtime): Promise<void> {
	return new Promise((resolve, reject) => {
		const stopTimer = runtime.setTimer(HEADER_WAIT_MS, resolve, 'limit')
		first.then(() => resolve(), reject).finally(stopTimer)
	})
}
