import type { RpcNext, RpcRequest, RpcResponse } from './connect-types.ts'
import type { MessageReader } from './request-messages.ts'

/** The call that an attempt belongs to. */
export interface AttemptOwner {
	onResponse(attempt: Attempt, response: RpcResponse): void
	onError(attempt: Attempt, error: unknown): void
}

/** What an attempt sends. */
export type AttemptRequest = Omit<RpcRequest, 'signal'>

/** One attempt of a call: a request to the transport, until its response has been read. */
export class Attempt {
	readonly #owner: AttemptOwner
	readonly #next: RpcNext
	readonly #controller = new AbortController()
	readonly previousAttempts: number
	/** Its number among all attempts of the interceptor, from 1. */
	readonly number: number
	/** Resolves when the response has been read, and rejects with any status but OK. */
	readonly ended: Promise<void>
	#resolve!: () => void
	#reject!: (error: unknown) => void
	#isEnded = false
	/** The request messages of a streaming call, if they are kept for retries. */
	#reader: MessageReader | undefined

	constructor(owner: AttemptOwner, next: RpcNext, previousAttempts: number, number: number) {
		this.#owner = owner
		this.#next = next
		this.previousAttempts = previousAttempts
		this.number = number
		this.ended = new Promise((resolve, reject) => {
			this.#resolve = resolve
			this.#reject = reject
		})
	}

	/** How many request messages were passed to the transport. */
	get sentMessages(): number {
		return this.#reader?.position ?? 0
	}

	get isEnded(): boolean {
		return this.#isEnded
	}

	async send(request: AttemptRequest, reader?: MessageReader): Promise<void> {
		this.#reader = reader
		const { signal } = this.#controller
		try {
			const response = await this.#next({ ...request, signal })
			if (!this.#isEnded) this.#owner.onResponse(this, response)
		} catch (error) {
			if (!this.#isEnded) this.#owner.onError(this, error)
		}
	}

	succeed(): void {
		this.#isEnded = true
		this.#resolve()
	}

	fail(failure: unknown): void {
		this.#isEnded = true
		if (this.#reader) this.#reader.isClosed = true
		this.#reject(failure)
	}

	/** Ends the request. Inner interceptors and the transport see `reason`, the policies see `failure`. */
	abort(failure: unknown, reason: unknown): void {
		if (this.#isEnded) return
		this.fail(failure)
		this.#controller.abort(reason)
	}
}
