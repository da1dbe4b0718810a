/**
 * The response messages of a handler. A handler that is a generator runs while a message is read, so each
 * read happens in the async context of the call. After the end of a call the generator is stopped where it
 * waits, so that its `finally` blocks run.
 */
import type { ServerCall } from '../server/server-call.ts'

export class HandlerMessages implements AsyncIterator<unknown> {
	readonly #call: ServerCall
	readonly #iterator: AsyncIterator<unknown>
	/** The read that is in flight. Never rejects. */
	#reading: Promise<unknown> | undefined
	#isDone = false
	#stopped: Promise<IteratorResult<unknown>> | undefined

	constructor(call: ServerCall, messages: AsyncIterable<unknown>) {
		this.#call = call
		this.#iterator = messages[Symbol.asyncIterator]()
	}

	async next(): Promise<IteratorResult<unknown>> {
		const reading = this.#call.run(async () => this.#iterator.next())
		this.#reading = reading.catch(() => {})
		try {
			const result = await reading
			if (result.done) this.#isDone = true
			return result
		} catch (error) {
			this.#isDone = true
			throw error
		}
	}

	/** Resolves when the handler has ended. */
	return(): Promise<IteratorResult<unknown>> {
		this.#stopped ??= this.#stop()
		return this.#stopped
	}

	async #stop(): Promise<IteratorResult<unknown>> {
		await this.#reading
		// An error of a handler that no caller waits for.
		if (!this.#isDone) await this.#call.run(async () => this.#iterator.return?.()).catch(() => {})
		return { done: true, value: undefined }
	}
}
