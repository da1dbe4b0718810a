/**
 * One call of a client: the object that grpc-js drives in place of its own. It starts an attempt whenever the
 * policies ask for one, sends the messages so far to it, and passes the response of the attempt that the call
 * is committed to on to the caller.
 *
 * It implements the interface of grpc-js's InterceptingCall instead of using that class, which would create a
 * dozen objects for every call.
 */
import { attachRecord } from '../../core/explain/record.ts'
import { ActiveAttempts } from '../policy/active-attempts.ts'
import { DiscardedError, invalidMetadata } from '../policy/call-failures.ts'
import { CallbackRpc } from '../policy/callback-rpc.ts'
import { confirmProbe } from '../policy/grpc-breaker.ts'
import type { GrpcEngine } from '../policy/grpc-engine.ts'
import { Rpc, readContext, ThrownByHook } from '../policy/rpc.ts'
import { CANCELLED, OK } from '../status/status.ts'
import { GrpcStatusError, setLostConnection } from '../status/status-error.ts'
import { Attempt, type AttemptOwner, NO_CONTEXT } from './attempt.ts'
import { reportChannelRetries } from './channel-retries.ts'
import { setIntercepted } from './channel-watch.ts'
import type {
	GrpcCall,
	GrpcCallOptions,
	GrpcListener,
	GrpcMessageContext,
	GrpcMetadata,
	GrpcModule,
	GrpcNextCall,
	GrpcStatus,
} from './grpc-types.ts'
import { MessageBuffer, type MessageSerializer, OutgoingMessage } from './message-buffer.ts'
import { attemptMetadata, copyMetadata, findInvalidMetadata, type InitialMetadata } from './metadata.ts'
import { attemptOptions, inheritedContext, linkParent, remainingMs } from './parent-call.ts'
import { failedStatus, failureOf, isConnectionLost, isGrpcResponse } from './statuses.ts'

/** What the calls of an interceptor share. */
export interface ClientEnvironment {
	readonly grpc: GrpcModule
	readonly engine: GrpcEngine
	readonly serializer: MessageSerializer
}

export class ClientCall extends CallbackRpc implements GrpcCall, AttemptOwner {
	readonly #environment: ClientEnvironment
	readonly #callerOptions: GrpcCallOptions
	/** The options of attempts. */
	readonly #options: GrpcCallOptions
	readonly #nextCall: GrpcNextCall
	#listener: Partial<GrpcListener> | undefined
	#metadata: InitialMetadata | undefined
	#unlinkParent: (() => void) | undefined
	readonly #active = new ActiveAttempts<Attempt>()
	/** The last attempt that was started, or the one that the call is committed to. */
	#latest: Attempt | undefined
	#attempts = 0
	readonly messages: MessageBuffer
	isHalfClosed = false
	#isReading = false
	#hasMessage = false
	/** True after `start`. */
	#isRunning = false
	#isOver = false
	/** Set while the status of an attempt arrives: then the caller's callback may be called synchronously. */
	#isInStatus = false
	/** The status of a call that succeeded. */
	#ok: GrpcStatus | undefined

	constructor(environment: ClientEnvironment, options: GrpcCallOptions, nextCall: GrpcNextCall) {
		const { engine } = environment
		const { runtime } = engine
		// Before the wall clock: the call's own deadline must not be later than the timer of grpc-js.
		const givenAt = runtime.now()
		const callerMs = remainingMs(options.deadline, runtime)
		const found = readContext(engine.settings.getContext)
		const isThrown = found instanceof ThrownByHook
		const context = inheritedContext(options, isThrown ? undefined : found, runtime)
		const target = engine.methodOf(options.method_definition.path)
		super(new Rpc(target, callerMs, context, runtime, givenAt))
		this.#environment = environment
		if (target.isRepeatable) setIntercepted(target.path)
		this.#callerOptions = options
		this.#nextCall = nextCall
		if (isThrown) this.rpc.rejection = { error: found.error, stop: 'hook-threw' }
		const { givenMs } = this.rpc
		this.#options = givenMs < callerMs || options.parent ? attemptOptions(options, givenMs, runtime) : options
		this.messages = new MessageBuffer(engine.buffer)
	}

	get serializer(): MessageSerializer {
		return this.#environment.serializer
	}

	get isRequestStream(): boolean {
		return this.#options.method_definition.requestStream
	}

	get #isStream(): boolean {
		return this.isRequestStream || this.#options.method_definition.responseStream
	}

	start(metadata: GrpcMetadata, listener?: Partial<GrpcListener>): void {
		this.#listener = listener
		this.#metadata = metadata
		const { rpc } = this
		if (rpc.parent || this.#callerOptions.parent)
			this.#unlinkParent = linkParent(this.#callerOptions, rpc.parent, (error) => this.#cancel(error))
		const invalid = findInvalidMetadata(metadata)
		if (rpc.cancellation) rpc.rejection = { error: rpc.cancellation, stop: 'abort' }
		else if (invalid) rpc.rejection ??= { error: invalidMetadata(invalid), stop: 'permanent' }
		// An interceptor further in may add to the metadata of the first attempt, and the caller may change it
		// before the next one.
		const copy = rpc.target.isRepeatable ? copyMetadata(metadata) : undefined
		const { engine } = this.#environment
		const call = engine.createCall(
			rpc,
			() => this.#attempt(),
			() => this.#findServer(),
		)
		this.begin(call, engine)
		this.#isRunning = true
		if (copy || this.#attempts === 0) this.#metadata = copy ?? copyMetadata(metadata)
	}

	sendMessage(message: unknown): void {
		this.sendMessageWithContext(NO_CONTEXT, message)
	}

	sendMessageWithContext(context: GrpcMessageContext, message: unknown): void {
		const outgoing = new OutgoingMessage(message, context)
		if (this.#isOver) {
			outgoing.acknowledgeSoon()
			return
		}
		const { target, isCommitted } = this.rpc
		if (target.isRepeatable && !isCommitted && this.#keep(outgoing)) outgoing.acknowledgeSoon()
		this.messages.push(outgoing)
		this.#sendPending()
	}

	halfClose(): void {
		this.isHalfClosed = true
		this.#sendPending()
	}

	startRead(): void {
		this.#isReading = true
		for (const attempt of this.#active.all) attempt.startRead()
	}

	/** Ends the call immediately, also while it waits in a queue or for a retry. */
	cancelWithStatus(code: number, details: string): void {
		this.#cancel(new GrpcStatusError({ code, details, metadata: undefined }))
	}

	getPeer(): string {
		return this.#latest?.call.getPeer() ?? 'unknown'
	}

	getAuthContext(): unknown {
		return this.#latest?.call.getAuthContext() ?? null
	}

	onMetadata(attempt: Attempt, metadata: GrpcMetadata): void {
		if (!isGrpcResponse(metadata)) {
			attempt.foreignHeaders = metadata
			return
		}
		this.#commit(attempt)
		if (this.#isStream) confirmProbe(this.rpc)
		this.#listener?.onReceiveMetadata?.(metadata)
	}

	onMessage(attempt: Attempt, message: unknown): void {
		this.#commit(attempt)
		this.#deliverForeignHeaders(attempt)
		if (!this.#hasMessage && this.#isStream) confirmProbe(this.rpc)
		this.#hasMessage = true
		this.rpc.hasDelivered = this.#options.method_definition.responseStream
		this.#listener?.onReceiveMessage?.(message)
	}

	onStatus(attempt: Attempt, status: GrpcStatus, isDiscarded: boolean): void {
		const discarded = isDiscarded && (this.rpc.cancellation ?? new DiscardedError())
		const failure = discarded || this.#failureOf(attempt, status)
		if (attempt.end) attempt.end(failure)
		else {
			this.#isInStatus = true
			this.settle(attempt.run, !failure, failure)
			this.#isInStatus = false
		}
	}

	/** Returns the failure of an attempt that has ended; undefined for OK. */
	#failureOf(attempt: Attempt, status: GrpcStatus): Error | undefined {
		const isOk = status.code === OK
		if (isOk) {
			this.#ok = status
			this.#commit(attempt)
		}
		this.#active.remove(attempt)
		if (isOk) return undefined
		const failure = failureOf(this.rpc, status)
		if (isConnectionLost(status))
			setLostConnection(failure, { peer: attempt.call.getPeer(), attempt: attempt.number })
		return failure
	}

	onSent(): void {
		const { isCommitted, target } = this.rpc
		if (isCommitted || !target.isRepeatable) this.messages.dropFirst()
	}

	/** Returns the target of the channel. Only a call knows it, so one is created and never started. */
	#findServer(): string {
		return this.#nextCall({ ...this.#options, deadline: Infinity, parent: undefined }).getPeer()
	}

	/** Starts an attempt and returns a promise of its end, for core's runner with promises. */
	#attempt(): Promise<void> {
		return new Promise((resolve, reject) => {
			this.startAttempt(0, (failure) => (failure ? reject(failure) : resolve()))
		})
	}

	override startAttempt(run: number, end?: (failure: Error | undefined) => void): void {
		const { rpc } = this
		if (rpc.cancellation) throw rpc.cancellation
		const { engine } = this.#environment
		const number = engine.countAttempt()
		const call = this.#nextCall(this.#optionsNow)
		if (this.#attempts === 0 && rpc.target.isRepeatable) reportChannelRetries(call)
		if (rpc.cancellation) {
			call.cancelWithStatus(CANCELLED, 'the call has ended')
			throw rpc.cancellation
		}
		const attempt = new Attempt(this, call, number, run, end)
		this.#active.add(attempt)
		this.#latest = attempt
		// Nothing will be sent again after this attempt.
		if (rpc.isCommitted) this.messages.releaseSpace()
		call.start(this.#metadataOf(this.#attempts++), attempt)
		attempt.sendPending()
		if (this.#isReading) attempt.startRead()
	}

	/** The deadline of a later attempt is computed again: the wall clock may have jumped. */
	get #optionsNow(): GrpcCallOptions {
		const { deadline } = this.rpc
		if (!this.#isRunning || !deadline) return this.#options
		return attemptOptions(this.#options, deadline.remainingMs, this.#environment.engine.runtime)
	}

	#sendPending(): void {
		for (const attempt of this.#active.all) attempt.sendPending()
	}

	#metadataOf(previousAttempts: number): GrpcMetadata {
		const initial = this.#metadata as InitialMetadata
		const { waitForReady } = this.rpc.target.config ?? {}
		// The first attempt has the caller's own metadata.
		if (!this.#isRunning && waitForReady === undefined) return initial as GrpcMetadata
		return attemptMetadata(initial, previousAttempts, waitForReady, this.#environment.grpc)
	}

	/**
	 * Keeps a message for retries. If it does not fit, the call is committed to the attempt that has sent the
	 * most messages or, during a wait, to the next one.
	 */
	#keep(outgoing: OutgoingMessage): boolean {
		try {
			if (this.messages.keep(outgoing, this.#options.method_definition, this.serializer)) return true
		} catch {
			// grpc-js serializes it again, and ends the call with the error. No attempt could send it.
			this.rpc.isCommitted = true
			return false
		}
		this.rpc.committedBy = 'buffer'
		const best = this.#active.mostAdvanced
		if (best) this.#commit(best)
		else this.rpc.isCommitted = true
		return false
	}

	/** Ends all other attempts. */
	#commit(attempt: Attempt): void {
		if (this.rpc.isCommitted && this.#active.all.length <= 1) return
		this.rpc.isCommitted = true
		this.#latest = attempt
		this.messages.releaseSpace()
		if (attempt.sentMessages > 0) this.messages.dropFirst()
		const others = this.#active.removeOthers(attempt)
		this.#cancelAttempts(others, CANCELLED, 'another request of this call was answered first')
	}

	#cancel(error: GrpcStatusError): void {
		if (this.#isOver || this.rpc.cancellation) return
		this.rpc.cancellation = error
		this.#cancelAttempts(this.#active.removeAll(), error.code, error.details)
		this.interrupt(error)
	}

	#cancelAttempts(attempts: readonly Attempt[], code: number, details: string): void {
		const { runtime } = this.#environment.engine
		for (const attempt of attempts) attempt.cancel(code, details, runtime)
	}

	override onEnd(ok: boolean, error: unknown): void {
		const { grpc, engine } = this.#environment
		const status = ok && this.#ok ? this.#ok : failedStatus(error, grpc)
		this.#isOver = true
		this.#unlinkParent?.()
		this.#cancelAttempts(this.#active.removeAll(), CANCELLED, 'the call has ended')
		this.messages.close()
		engine.end(this.rpc, status.code === OK)
		if (status.code !== OK && this.rpc.call) attachRecord(status.metadata, this.rpc.call)
		// As without the interceptor, the caller's callback is called later, and its errors are uncaught
		// exceptions.
		if (this.#isInStatus && this.#isRunning) this.#deliver(status)
		else queueMicrotask(() => this.#deliver(status))
	}

	#deliverForeignHeaders(attempt: Attempt): void {
		const { foreignHeaders } = attempt
		attempt.foreignHeaders = undefined
		if (foreignHeaders) this.#listener?.onReceiveMetadata?.(foreignHeaders)
	}

	#deliver(status: GrpcStatus): void {
		if (this.#latest) this.#deliverForeignHeaders(this.#latest)
		if (!this.#hasMessage && !this.#options.method_definition.responseStream)
			this.#listener?.onReceiveMessage?.(null)
		this.#listener?.onReceiveStatus?.(status)
	}
}
