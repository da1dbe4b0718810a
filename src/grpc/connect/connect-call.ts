/**
 * One call of a client. It sends a request whenever the policies ask for an attempt, and passes the response of the attempt that the call is
 * committed to on to the caller.
 */
import { interrupt } from '../../core/engine/interrupt.ts'
import { attachRecord } from '../../core/explain/record.ts'
import {
	expired,
	invalidMetadata,
	isAtDeadline,
	parentFailure,
	rejectionOf,
	stopOf,
	stoppedReading,
} from '../policy/call-failures.ts'
import type { GrpcEngine } from '../policy/grpc-engine.ts'
import { setLostConnection } from '../policy/lost-connection.ts'
import { readContext, ThrownByHook } from '../policy/parent-context.ts'
import { confirmProbe, mayBeProbe } from '../policy/probes.ts'
import { Rpc } from '../policy/rpc.ts'
import { DiscardedError } from '../status/discarded-error.ts'
import { CANCELLED, type StatusCode } from '../status/status.ts'
import type { GrpcStatusError } from '../status/status-error.ts'
import { Attempt, type AttemptOwner } from './attempt.ts'
import type { RpcNext, RpcRequest, RpcResponse } from './connect-types.ts'
import type { RpcErrors } from './errors.ts'
import { untilCommitted } from './header-wait.ts'
import { KeptMessage } from './kept-message.ts'
import { findInvalidHeader, headerOfAttempt, readTimeout } from './request-header.ts'
import { MessageReader, type MessagesOwner, RequestMessages } from './request-messages.ts'
import { ResponseStream, type StreamOwner } from './response-stream.ts'

/** What the calls of an interceptor share. */
export interface ClientEnvironment {
	readonly engine: GrpcEngine
	readonly errors: RpcErrors
}

interface Reply {
	resolve(response: RpcResponse): void
	reject(error: unknown): void
}

export class ConnectCall extends Rpc implements AttemptOwner, MessagesOwner, StreamOwner {
	readonly #environment: ClientEnvironment
	readonly #request: RpcRequest
	readonly #next: RpcNext
	/** True if the timeout in the headers is later than the deadline. */
	readonly #isTimeoutLonger: boolean
	/** The request messages, if they are kept for retries. */
	#kept: KeptMessage | RequestMessages | undefined
	readonly #active: Attempt[] = []
	#attempts = 0
	#isRepeated = false
	#isOver = false
	readonly #cleanups: (() => void)[] = []
	/** Undefined when the caller has the response: the functions would keep its messages alive. */
	#caller: Reply | undefined
	/** The response of a unary call that succeeded. */
	#response: RpcResponse | undefined
	#stream: ResponseStream | undefined

	constructor(environment: ClientEnvironment, request: RpcRequest, next: RpcNext) {
		const { engine } = environment
		const { service, method, header, signal } = request
		const target = engine.methodOf(`/${service.typeName}/${method.name}`)
		const timeoutMs = readTimeout(header) ?? Infinity
		const context = readContext(engine.settings.getContext)
		const parent = context instanceof ThrownByHook ? undefined : context
		super(target, timeoutMs, parent, engine.runtime)
		this.#environment = environment
		this.#request = request
		this.#next = next
		this.#isTimeoutLonger = this.givenMs < timeoutMs
		const aborted = [signal, parent?.signal].find((given) => given?.aborted)
		const invalid = findInvalidHeader(header)
		if (context instanceof ThrownByHook) this.rejection = { error: context.error, stop: 'hook-threw' }
		else if (aborted) this.rejection = rejectionOf(this.#abortFailure(aborted))
		else if (invalid) this.rejection = { error: invalidMetadata(invalid), stop: 'permanent' }
	}

	run(): Promise<RpcResponse> {
		const { engine } = this.#environment
		const response = new Promise<RpcResponse>((resolve, reject) => {
			this.#caller = { resolve, reject }
		})
		const call = engine.createCall(this, () => this.#startAttempt())
		if (this.target.isRepeatable && !this.rejection) this.#keepMessages()
		if (!this.rejection) this.#linkSignals()
		void engine.run(call).then(
			() => this.#end(undefined),
			(error) => this.#end(this.#toCaller(error)),
		)
		return response
	}

	override findServer(): string {
		const { url } = this.#request
		return URL.canParse(url) ? new URL(url).origin : url
	}

	onResponse(attempt: Attempt, response: RpcResponse): void {
		if (!response.stream) {
			this.#commit(attempt)
			this.#response = response
			this.#remove(attempt)
			attempt.succeed()
			return
		}
		const source = (response.message as AsyncIterable<unknown>)[Symbol.asyncIterator]()
		// The headers of a probe are held back too, because a stream that fails begins with the same headers.
		const isDirect = this.isCommitted || !this.target.isRepeatable
		if (isDirect && !mayBeProbe(this)) this.#deliver(attempt, response, source)
		else void this.#deliverAfterFirst(attempt, response, source)
	}

	onError(attempt: Attempt, error: unknown): void {
		const { errors } = this.#environment
		if (this.#canRepeat && errors.isRefused(error)) {
			this.#isRepeated = true
			this.#send(attempt)
			return
		}
		this.#remove(attempt)
		const failure = errors.toStatus(error, (code) => this.#isInherited(code))
		if (errors.isConnectionLost(error, this.hasDelivered))
			setLostConnection(failure, { peer: this.findServer(), attempt: attempt.number })
		attempt.fail(failure)
	}

	onBufferFull(): void {
		this.committedBy = 'buffer'
		const [furthest] = this.#active.toSorted((a, b) => b.sentMessages - a.sentMessages)
		if (furthest) this.#commit(furthest)
		this.isCommitted = true
	}

	onRequestError(): void {
		this.isCommitted = true
	}

	onStreamMessage(): void {
		this.hasDelivered = true
	}

	onStreamEnd(): void {
		for (const attempt of this.#active.splice(0)) attempt.succeed()
	}

	onStreamError(error: unknown): void {
		for (const attempt of [...this.#active]) this.onError(attempt, error)
	}

	onStreamStop(): void {
		this.#cancel(stoppedReading())
	}

	#startAttempt(): Promise<void> {
		if (this.cancellation) throw this.cancellation
		const number = this.#environment.engine.countAttempt()
		const attempt = new Attempt(this, this.#next, this.#attempts++, number)
		this.#active.push(attempt)
		this.#send(attempt)
		return attempt.ended
	}

	#send(attempt: Attempt): void {
		const request = this.#request
		const { header } = request
		const { previousAttempts } = attempt
		const isFirst = previousAttempts === 0
		const remainingMs = isFirst && !this.#isTimeoutLonger ? undefined : this.deadline?.remainingMs
		const isUnchanged = remainingMs === undefined && !this.target.isRepeatable
		const kept = this.#kept
		const reader = kept instanceof RequestMessages ? new MessageReader(kept) : undefined
		const message = kept instanceof KeptMessage && !isFirst ? kept.message : request.message
		void attempt.send(
			{
				...request,
				message: reader ?? message,
				// Interceptors and transports change headers.
				header: isUnchanged ? header : headerOfAttempt(header, previousAttempts, remainingMs),
			},
			reader,
		)
	}

	/** True if the request can be sent again because the server has not seen it. gRPC allows that once per call. */
	get #canRepeat(): boolean {
		return !this.#isRepeated && !this.isCommitted && (this.#kept !== undefined || !this.#request.stream)
	}

	#keepMessages(): void {
		const { buffer } = this.#environment.engine
		const { stream, message } = this.#request
		this.#kept = stream
			? new RequestMessages(this, buffer, message as AsyncIterable<unknown>)
			: KeptMessage.keep(message, buffer)
		if (!this.#kept) this.onBufferFull()
	}

	async #deliverAfterFirst(
		attempt: Attempt,
		response: RpcResponse,
		source: AsyncIterator<unknown>,
	): Promise<void> {
		let first: Promise<IteratorResult<unknown>>
		try {
			first = source.next()
			await untilCommitted(first, this.#environment.engine.runtime)
		} catch (error) {
			if (!attempt.isEnded) this.onError(attempt, error)
			return
		}
		if (!attempt.isEnded) this.#deliver(attempt, response, source, first)
	}

	#deliver(
		attempt: Attempt,
		response: RpcResponse,
		source: AsyncIterator<unknown>,
		first?: Promise<IteratorResult<unknown>>,
	): void {
		this.#commit(attempt)
		confirmProbe(this)
		this.#stream = new ResponseStream(this, source, first)
		this.#caller?.resolve({ ...response, message: this.#stream.open() })
		this.#caller = undefined
	}

	/** From now on only this attempt counts. */
	#commit(attempt: Attempt): void {
		this.isCommitted = true
		this.#kept?.releaseSpace()
		if (this.#kept instanceof RequestMessages) this.#kept.dropBefore(attempt.sentMessages)
		const { errors } = this.#environment
		for (const other of this.#active.filter((active) => active !== attempt)) {
			this.#remove(other)
			const error = new DiscardedError()
			other.abort(error, errors.create(error.message, CANCELLED))
		}
	}

	#remove(attempt: Attempt): void {
		const index = this.#active.indexOf(attempt)
		if (index >= 0) this.#active.splice(index, 1)
	}

	#linkSignals(): void {
		for (const signal of [this.#request.signal, this.parent?.signal]) {
			if (!signal) continue
			const listener = () => this.#cancel(this.#abortFailure(signal))
			signal.addEventListener('abort', listener)
			this.#cleanups.push(() => signal.removeEventListener('abort', listener))
		}
		const { deadline } = this
		// Core rejects a call whose deadline has passed before.
		if (!deadline || deadline.isExpired) return
		this.#cleanups.push(deadline.onExpiry((error) => this.#cancel(expired(error, this.isDeadlineInherited))))
	}

	#abortFailure(signal: AbortSignal): GrpcStatusError {
		const { reason } = signal
		const isCaller = signal === this.#request.signal
		return isCaller ? this.#environment.errors.toCancellation(reason) : parentFailure(reason)
	}

	#isInherited(code: StatusCode): boolean {
		return this.isDeadlineInherited && isAtDeadline(code, this.deadline)
	}

	/** Ends the call immediately, also while it waits in a queue or for a retry. */
	#cancel(failure: GrpcStatusError): void {
		const { call } = this
		if (this.#isOver || this.cancellation || !call) return
		this.cancellation = failure
		// In a microtask, because a listener of the call's own events may ask for it; and first, because the attempts end in microtasks too.
		queueMicrotask(() => interrupt(call, undefined, call, failure, stopOf(failure)))
		const reason = this.#environment.errors.toCaller(failure)
		for (const attempt of this.#active.splice(0)) attempt.abort(failure, reason)
	}

	#toCaller(failure: unknown): unknown {
		const error = this.#environment.errors.toCaller(failure)
		if (this.call) attachRecord(error, this.call)
		return error
	}

	#end(error: unknown): void {
		if (this.#isOver) return
		this.#isOver = true
		const { engine, errors } = this.#environment
		for (const cleanup of this.#cleanups.splice(0)) cleanup()
		this.#kept?.close()
		for (const attempt of this.#active.splice(0))
			attempt.abort(new DiscardedError(), errors.create('the call has ended', CANCELLED))
		engine.end(this, error === undefined)
		if (error !== undefined) {
			this.#stream?.fail(error)
			this.#caller?.reject(error)
		} else {
			this.#stream?.finish()
			if (this.#response) this.#caller?.resolve(this.#response)
		}
	}
}
