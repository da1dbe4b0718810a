/** A call of a server between its handler and the client. */
import { safeMessage } from '../../core/classify/safe-get.ts'
import { findRecord } from '../../core/explain/record.ts'
import type { ServerFailure } from '../server/failure.ts'
import { DO_NOT_RETRY, forbidsRetry } from '../server/pushback.ts'
import type { CallDriver, ServerCall } from '../server/server-call.ts'
import type { GrpcServerContext } from '../server/server-context.ts'
import { storeContext } from '../server/server-context.ts'
import type { ServerEngine } from '../server/server-engine.ts'
import { PUSHBACK_KEY } from '../status/retry-metadata.ts'
import { DEADLINE_EXCEEDED, INTERNAL } from '../status/status.ts'
import type { RpcNext, RpcRequest, RpcResponse } from './connect-types.ts'
import type { RpcErrors } from './errors.ts'
import { HandlerMessages } from './handler-messages.ts'
import { readTimeout } from './request-header.ts'
import { ResponseStream, type StreamOwner } from './response-stream.ts'

/** What the calls of an interceptor share. */
export interface ServerEnvironment {
	readonly engine: ServerEngine
	readonly errors: RpcErrors
}

export class HandlerCall implements CallDriver, StreamOwner {
	readonly #environment: ServerEnvironment
	readonly #request: RpcRequest
	readonly #next: RpcNext
	readonly #call: ServerCall
	readonly #response: Promise<RpcResponse>
	#resolve!: (response: RpcResponse) => void
	#reject!: (error: unknown) => void
	#isFailed = false
	#messages: HandlerMessages | undefined
	#stream: ResponseStream | undefined

	constructor(environment: ServerEnvironment, request: RpcRequest, next: RpcNext) {
		const { service, method, header } = request
		this.#environment = environment
		this.#request = request
		this.#next = next
		this.#call = environment.engine.open(
			{
				service: service.typeName,
				method: method.name,
				headers: header,
				remainingMs: this.#isExpired ? 0 : readTimeout(header),
			},
			this,
		)
		this.#response = new Promise((resolve, reject) => {
			this.#resolve = resolve
			this.#reject = reject
		})
	}

	run(): Promise<RpcResponse> {
		const { signal } = this.#request
		const isGone = signal.aborted && !this.#isExpired
		if (isGone) {
			this.#call.cancel()
			this.#end(signal.reason)
		} else {
			signal.addEventListener('abort', () => this.#onAbort(), { once: true })
			this.#call.begin()
		}
		return this.#response
	}

	start(context: GrpcServerContext): void {
		storeContext(this.#request.header, context)
		void this.#handle(context)
	}

	fail({ code, details, pushback, error }: ServerFailure): void {
		const { errors } = this.#environment
		const failure = errors.create(details, code, error)
		this.#end(pushback === undefined ? failure : errors.withPushback(failure, pushback))
	}

	onStreamEnd(): void {
		this.#call.finish()
		this.#stream?.finish()
	}

	onStreamError(error: unknown): void {
		this.#stream?.fail(this.#finish(error))
	}

	onStreamStop(): void {
		this.#call.cancel()
		this.#stopHandler()
	}

	async #handle(context: GrpcServerContext): Promise<void> {
		const call = this.#call
		// Connect aborts its signal also when a call has succeeded, and handlers may rely on it to release
		// resources.
		const signal = AbortSignal.any([this.#request.signal, context.signal])
		try {
			const response = await this.#next({ ...this.#request, signal })
			if (response.stream) this.#open(response)
			else {
				call.finish()
				this.#resolve(response)
			}
		} catch (error) {
			this.#reject(this.#finish(error))
		}
	}

	#open(response: RpcResponse): void {
		this.#messages = new HandlerMessages(this.#call, response.message as AsyncIterable<unknown>)
		if (this.#isFailed) this.#stopHandler()
		else {
			this.#stream = new ResponseStream(this, this.#messages)
			this.#resolve({ ...response, message: this.#stream.open() })
		}
	}

	/** Ends a call whose handler has failed. Returns the error to send. */
	#finish(thrown: unknown): unknown {
		const { errors, engine } = this.#environment
		const { context } = this.#call
		const error = errors.find(thrown)
		const code = error?.code ?? INTERNAL
		this.#call.finish(code, error?.rawMessage ?? safeMessage(thrown))
		if (!forbidsRetry(engine.settings, context, code)) return error ?? thrown
		// The pushback of a received error was for the calls of this server. Before Connect 2.2 only the record
		// of the call shows that it was received.
		const isReceived = error?.isWireError ?? findRecord(error)
		if (error && !isReceived && error.metadata.has(PUSHBACK_KEY)) return error
		// Connect itself reports other errors like this.
		return errors.withPushback(error ?? errors.create('internal error', INTERNAL, thrown), DO_NOT_RETRY)
	}

	/**
	 * The deadline has passed, the client has cancelled or has disconnected, or the server shuts down. Once a
	 * handler runs, only a passed deadline ends the call here: a server that shuts down may let its handlers
	 * respond, and Connect stops a handler when it cannot send to the client.
	 */
	#onAbort(): void {
		const call = this.#call
		if (call.isOver) return
		const isExpired = this.#isExpired
		call.cancel(isExpired)
		if (isExpired || !call.context) this.#end(this.#request.signal.reason)
	}

	get #isExpired(): boolean {
		const { signal } = this.#request
		return signal.aborted && this.#environment.errors.find(signal.reason)?.code === DEADLINE_EXCEEDED
	}

	/** Sends an error in place of the handler, which may still run and holds its slot until it has ended. */
	#end(error: unknown): void {
		this.#isFailed = true
		this.#reject(error)
		this.#stream?.fail(error)
		this.#stopHandler()
	}

	#stopHandler(): void {
		void this.#messages?.return().then(() => this.#call.finish())
	}
}
