/**
 * One call of a client. It sends a request whenever the policies ask for an attempt, and passes the response
 * of the attempt that the call is committed to on to the caller.
 */
import { interrupt } from '../../core/engine/interrupt.ts'
import { attachRecord } from '../../core/explain/record.ts'
import { ActiveAttempts } from '../policy/active-attempts.ts'
import {
	DiscardedError,
	expired,
	invalidMetadata,
	isAtDeadline,
	parentFailure,
	rejectionOf,
	stopOf,
	stoppedReading,
} from '../policy/call-failures.ts'
import { confirmProbe, mayBeProbe } from '../policy/grpc-breaker.ts'
import type { GrpcEngine } from '../policy/grpc-engine.ts'
import { Rpc, readContext, ThrownByHook } from '../policy/rpc.ts'
import { CANCELLED, type StatusCode } from '../status/status.ts'
import { type GrpcStatusError, setLostConnection } from '../status/status-error.ts'
import { Attempt, type AttemptOwner } from './attempt.ts'
import type { RpcNext, RpcRequest, RpcResponse } from './connect-types.ts'
import type { RpcErrors } from './errors.ts'
import { findInvalidHeader, headerOfAttempt, readTimeout } from './request-header.ts'
import { KeptMessage, MessageReader, RequestMessages } from './request-messages.ts'
import { ResponseStream, type StreamOwner, untilCommitted } from './response-stream.ts'

/** What the calls of an interceptor share. */
export interface ClientEnvironment {
	readonly engine: GrpcEngine
	readonly errors: RpcErrors
}

interface Reply {
	resolve(response: RpcResponse): void
	reject(error: unknown): void
}

export class ConnectCall implements AttemptOwner, StreamOwner {
	readonly rpc: Rpc
	readonly #environment: ClientEnvironment
	readonly #request: RpcRequest
	readonly #next: RpcNext
	/** True if the timeout in the headers is later than the deadline. */
	readonly #isTimeoutLonger: boolean
	/** The request messages, if they are kept for retries. */
	#kept: KeptMessage | RequestMessages | undefined
	readonly #active = new ActiveAttempts<Attempt>()
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
		const rpc = new Rpc(target, timeoutMs, parent, engine.runtime)
		this.rpc = rpc
		this.#environment = environment
		this.#request = request
		this.#next = next
		this.#isTimeoutLonger = rpc.givenMs < timeoutMs
		const aborted = [signal, parent?.signal].find((given) => given?.aborted)
		const invalid = findInvalidHeader(header)
		if (context instanceof ThrownByHook) rpc.rejection = { error: context.error, stop: 'hook-threw' }
		else if (aborted) rpc.rejection = rejectionOf(this.#abortFailure(aborted))
		else if (invalid) rpc.rejection = { error: invalidMetadata(invalid), stop: 'permanent' }
	}

	run(): Promise<RpcResponse> {
		const { engine } = this.#environment
		const response = new Promise<RpcResponse>((resolve, reject) => {
			this.#caller = { resolve, reject }
		})
		const { rpc } = this
		const call = engine.createCall(
			rpc,
			() => this.#startAttempt(),
			() => this.#findServer(),
		)
		if (rpc.target.isRepeatable && !rpc.rejection) this.#keepMessages()
		if (!rpc.rejection) this.#linkSignals()
		void engine.run(call).then(
			() => this.#end(undefined),
			(error) => this.#end(this.#toCaller(error)),
		)
		return response
	}

	#findServer(): string {
		const { url } = this.#request
		return URL.canParse(url) ? new URL(url).origin : url
	}

	onResponse(attempt: Attempt, response: RpcResponse): void {
		if (!response.stream) {
			this.#commit(attempt)
			this.#response = response
			this.#active.remove(attempt)
			attempt.succeed()
			return
		}
		const source = (response.message as AsyncIterable<unknown>)[Symbol.asyncIterator]()
		// The headers of a probe are held back too, because a stream that fails begins with the same headers.
		const isDirect = this.rpc.isCommitted || !this.rpc.target.isRepeatable
		if (isDirect && !mayBeProbe(this.rpc)) this.#deliver(attempt, response, source)
		else void this.#deliverAfterFirst(attempt, response, source)
	}

	onError(attempt: Attempt, error: unknown): void {
		const { errors } = this.#environment
		if (this.#canRepeat && errors.isRefused(error)) {
			this.#isRepeated = true
			this.#send(attempt)
			return
		}
		this.#active.remove(attempt)
		const failure = errors.toStatus(error, (code) => this.#isInherited(code))
		if (errors.isConnectionLost(error, this.rpc.hasDelivered))
			setLostConnection(failure, { peer: this.#findServer(), attempt: attempt.number })
		attempt.fail(failure)
	}

	onStreamMessage(): void {
		this.rpc.hasDelivered = true
	}

	onStreamEnd(): void {
		for (const attempt of this.#active.removeAll()) attempt.succeed()
	}

	onStreamError(error: unknown): void {
		for (const attempt of this.#active.all) this.onError(attempt, error)
	}

	onStreamStop(): void {
		this.#cancel(stoppedReading())
	}

	#startAttempt(): Promise<void> {
		const { cancellation } = this.rpc
		if (cancellation) throw cancellation
		const number = this.#environment.engine.countAttempt()
		const attempt = new Attempt(this, this.#next, this.#attempts++, number)
		this.#active.add(attempt)
		this.#send(attempt)
		return attempt.ended
	}

	#send(attempt: Attempt): void {
		const request = this.#request
		const { header } = request
		const { previousAttempts } = attempt
		const isFirst = previousAttempts === 0
		const remainingMs = isFirst && !this.#isTimeoutLonger ? undefined : this.rpc.deadline?.remainingMs
		const isUnchanged = remainingMs === undefined && !this.rpc.target.isRepeatable
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

	/** True if a request that the server has not seen can be sent again. gRPC allows that once per call. */
	get #canRepeat(): boolean {
		return !this.#isRepeated && !this.rpc.isCommitted && (this.#kept !== undefined || !this.#request.stream)
	}

	#keepMessages(): void {
		const { buffer } = this.#environment.engine
		const { stream, message } = this.#request
		if (stream) {
			const source = message as AsyncIterable<unknown>
			this.#kept = new RequestMessages(this.rpc, buffer, source, () => this.#onBufferFull())
			return
		}
		const kept = new KeptMessage(buffer)
		if (kept.keep(message)) this.#kept = kept
		else this.#onBufferFull()
	}

	#onBufferFull(): void {
		this.rpc.committedBy = 'buffer'
		const best = this.#active.mostAdvanced
		if (best) this.#commit(best)
		this.rpc.isCommitted = true
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
		confirmProbe(this.rpc)
		this.#stream = new ResponseStream(this, source, first)
		this.#caller?.resolve({ ...response, message: this.#stream.open() })
		this.#caller = undefined
	}

	/** Ends all other attempts. */
	#commit(attempt: Attempt): void {
		this.rpc.isCommitted = true
		this.#kept?.releaseSpace()
		if (this.#kept instanceof RequestMessages) this.#kept.dropBefore(attempt.sentMessages)
		const { errors } = this.#environment
		for (const other of this.#active.removeOthers(attempt)) {
			const error = new DiscardedError()
			other.abort(error, errors.create(error.message, CANCELLED))
		}
	}

	#linkSignals(): void {
		for (const signal of [this.#request.signal, this.rpc.parent?.signal]) {
			if (!signal) continue
			const listener = () => this.#cancel(this.#abortFailure(signal))
			signal.addEventListener('abort', listener)
			this.#cleanups.push(() => signal.removeEventListener('abort', listener))
		}
		const { deadline, isDeadlineInherited } = this.rpc
		// Core rejects a call whose deadline has passed before.
		if (!deadline || deadline.isExpired) return
		this.#cleanups.push(deadline.onExpiry((error) => this.#cancel(expired(error, isDeadlineInherited))))
	}

	#abortFailure(signal: AbortSignal): GrpcStatusError {
		const { reason } = signal
		const isCaller = signal === this.#request.signal
		return isCaller ? this.#environment.errors.toCancellation(reason) : parentFailure(reason)
	}

	#isInherited(code: StatusCode): boolean {
		return this.rpc.isDeadlineInherited && isAtDeadline(code, this.rpc.deadline)
	}

	/** Ends the call immediately, also while it waits in a queue or for a retry. */
	#cancel(failure: GrpcStatusError): void {
		const { call, cancellation } = this.rpc
		if (this.#isOver || cancellation || !call) return
		this.rpc.cancellation = failure
		// A microtask, because a listener of the call's own events may cancel it. It comes before the aborts of the
		// attempts, which end in microtasks too.
		queueMicrotask(() => interrupt(call, undefined, call, failure, stopOf(failure)))
		const reason = this.#environment.errors.toCaller(failure)
		for (const attempt of this.#active.removeAll()) attempt.abort(failure, reason)
	}

	#toCaller(failure: unknown): unknown {
		const error = this.#environment.errors.toCaller(failure)
		if (this.rpc.call) attachRecord(error, this.rpc.call)
		return error
	}

	#end(error: unknown): void {
		if (this.#isOver) return
		this.#isOver = true
		const { engine, errors } = this.#environment
		for (const cleanup of this.#cleanups.splice(0)) cleanup()
		this.#kept?.close()
		for (const attempt of this.#active.removeAll())
			attempt.abort(new DiscardedError(), errors.create('the call has ended', CANCELLED))
		engine.end(this.rpc, error === undefined)
		if (error !== undefined) {
			this.#stream?.fail(error)
			this.#caller?.reject(error)
		} else {
			this.#stream?.finish()
			if (this.#response) this.#caller?.resolve(this.#response)
		}
	}
}
