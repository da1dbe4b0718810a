/**
 * An incoming call from its metadata to its status, the same for grpc-js and Connect. It is a call of core
 * whose operation is the handler, so that the bulkhead, its queue, events and observers need no code of their
 * own. The handler is not a promise: it has ended when the interceptor calls `finish`. The call may end
 * earlier, by the deadline or by the client, and then the handler keeps its slot until `finish`, like an
 * operation that ignores its timeout.
 */
import type { Deadline } from '../../core/deadline/deadline.ts'
import { Call, type CompiledPipeline } from '../../core/engine/call.ts'
import type { CallExtension } from '../../core/engine/call-extension.ts'
import { Context } from '../../core/engine/context.ts'
import { interrupt } from '../../core/engine/interrupt.ts'
import { run } from '../../core/engine/runner.ts'
import { DeadlineExceededError } from '../../core/errors/errors.ts'
import type { StopReason } from '../../core/explain/record.ts'
import type { HeaderLookup } from '../../core/headers/header-values.ts'
import { OUTERMOST, RETRY_LAYER } from '../../http/headers/retry-headers.ts'
import { openCall } from '../../http/server/request-context.ts'
import { captureContext, storage } from '../../node/storage.ts'
import type { GrpcEventFields } from '../interceptor/grpc-interceptor.ts'
import type { MethodName } from '../service-config/service-config.ts'
import { PREVIOUS_ATTEMPTS_KEY } from '../status/retry-metadata.ts'
import {
	CANCELLED,
	DEADLINE_EXCEEDED,
	OK,
	type StatusCode,
	type StatusName,
	statusNameOf,
} from '../status/status.ts'
import { GrpcStatusError } from '../status/status-error.ts'
import { expiredFailure, rejectionFailure, type ServerFailure } from './failure.ts'
import type { GrpcServerSettings } from './options.ts'
import { pushbackFor } from './pushback.ts'
import { type GrpcServerContext, RpcContext } from './server-context.ts'

/** What an interceptor knows about a call when its metadata has arrived. */
export interface IncomingCall extends MethodName {
	/** The metadata of the client. */
	readonly headers: HeaderLookup
	/** The remaining time of the client, in milliseconds; undefined without a deadline, negative after it. */
	readonly remainingMs: number | undefined
}

/** What an interceptor does for a call. */
export interface CallDriver {
	/** Starts the handler in the async context of the call. It ends when the interceptor calls `finish`. */
	start(context: GrpcServerContext): void
	/** Sends this status: the call was rejected or its deadline has passed. Not after `cancel` or `finish`. */
	fail(failure: ServerFailure): void
}

/** What the calls of a server share. */
export interface CallHost {
	readonly settings: GrpcServerSettings
	pipelineOf(service: string): CompiledPipeline
	deadlineOf(remainingMs: number | undefined): Deadline | undefined
	onStart(): void
	onEnd(code: StatusCode, isStarted: boolean): void
}

/** The client's timer started earlier: its cancellation can arrive this much before the deadline here. */
const CLIENT_AHEAD_MS = 10

export class ServerCall implements CallExtension, MethodName {
	readonly deadline: Deadline | undefined
	readonly service: string
	readonly method: string
	/** What the call ends with; undefined until that is known. */
	#status: StatusName | undefined
	readonly #host: CallHost
	readonly #headers: HeaderLookup
	readonly #driver: CallDriver
	readonly #call: Call
	/** Stands for the client's retry, if it has one: policies in the handler find it as their outer retry. */
	#retryingCall: Call | undefined
	#context: GrpcServerContext | undefined
	#runInContext: (<T>(fn: () => T) => T) | undefined
	/** Ends the operation of the call; undefined until the handler is started. */
	#endHandler: ((failure?: Error) => void) | undefined
	#stopTimer: (() => void) | undefined
	#rejection: ServerFailure | undefined
	#isOver = false

	constructor(host: CallHost, incoming: IncomingCall, driver: CallDriver) {
		const { service, method, headers, remainingMs } = incoming
		this.#host = host
		this.#headers = headers
		this.#driver = driver
		this.service = service
		this.method = method
		this.deadline = host.deadlineOf(remainingMs)
		const options = { name: `/${service}/${method}`, deadline: this.deadline, extension: this }
		this.#call = new Call(host.pipelineOf(service), options, () => this.#startHandler())
	}

	get eventFields(): GrpcEventFields {
		const status = this.#status
		return { grpcService: this.service, ...(status === undefined ? {} : { grpcStatus: status }) }
	}

	/** Admits the call and starts its handler, immediately or after the queue. */
	begin(): void {
		const { deadline } = this
		const call = this.#call
		// Its event is emitted before the layers are entered.
		if (deadline?.isExpired) this.#status = statusNameOf(DEADLINE_EXCEEDED)
		else this.#stopTimer = deadline?.onExpiry((error) => this.#expire(error))
		const runAround = call.pipeline.observer?.run
		void (runAround ? runAround(call, run) : run(call)).then(undefined, (error) => this.#reject(error))
	}

	/** True if a status was sent or the client has left: what the handler sends later is ignored. */
	get isOver(): boolean {
		return this.#isOver
	}

	/** The context of the handler; undefined until it is started. */
	get context(): GrpcServerContext | undefined {
		return this.#context
	}

	/** Runs `fn` in the async context of the handler, inside of the functions of observers. */
	run<T>(fn: () => T): T {
		if (this.#runInContext) return this.#runInContext(fn)
		return this.#context ? storage.run(this.#context, fn) : fn()
	}

	/** The handler, or an interceptor before it, has responded, or has ended after the call was over. */
	finish(code: StatusCode = OK, details = ''): void {
		const isLate = this.#isDecided
		const failure =
			isLate || code === OK ? undefined : new GrpcStatusError({ code, details, metadata: undefined })
		// A queued call must not be started anymore.
		if (!this.#endHandler) this.#interrupt(failure ?? new Error('ended without a handler'), 'cancelled', code)
		else if (!isLate) this.#end(code)
		this.#retryingCall?.settle(true, undefined)
		this.#endHandler?.(failure)
	}

	/** The client has cancelled the call, or has disconnected. `isExpired`: its deadline has passed. */
	cancel(isExpired = false): void {
		// grpc-js reports a cancellation after every call, and an exception is expensive.
		if (this.#isDecided) return
		const { remainingMs = Infinity } = this.deadline ?? {}
		if (isExpired || remainingMs < CLIENT_AHEAD_MS)
			this.#interrupt(new DeadlineExceededError(), 'deadline', DEADLINE_EXCEEDED)
		else
			this.#interrupt(new DOMException('The client has cancelled the call', 'AbortError'), 'abort', CANCELLED)
	}

	/** @internal The call has failed, before its event is emitted. */
	onFailure(error: unknown): void {
		if (this.#isDecided) return
		const { settings } = this.#host
		const { service, method } = this
		const rejected = { service, method, previousAttempts: this.#previousAttempts }
		this.#rejection = rejectionFailure(error, this.deadline?.isExpired === true, () =>
			pushbackFor(settings, rejected, this.#call.pipeline.runtime),
		)
		this.#status = statusNameOf(this.#rejection.code)
	}

	/** A call that was rejected ends with the next promise job, and its event was emitted already. */
	get #isDecided(): boolean {
		return this.#isOver || this.#rejection !== undefined
	}

	#reject(error: unknown): void {
		if (this.#isOver) return
		this.onFailure(error)
		const failure = this.#rejection ?? expiredFailure(error)
		this.#end(failure.code)
		this.#driver.fail(failure)
	}

	#expire(error: DeadlineExceededError): void {
		if (this.#isDecided) return
		this.#interrupt(error, 'deadline', DEADLINE_EXCEEDED)
		this.#driver.fail(expiredFailure(error))
	}

	#interrupt(error: unknown, stop: StopReason, code: StatusCode): void {
		if (this.#isDecided) return
		this.#end(code)
		interrupt(this.#call, undefined, this.#call, error, stop)
		this.#retryingCall?.settle(true, undefined)
	}

	#end(code: StatusCode): void {
		this.#isOver = true
		this.#status = statusNameOf(code)
		this.#stopTimer?.()
		this.#host.onEnd(code, this.#endHandler !== undefined)
	}

	#startHandler(): Promise<void> {
		const ended = new Promise<void>((resolve, reject) => {
			this.#endHandler = (failure) => (failure ? reject(failure) : resolve())
		})
		this.#host.onStart()
		const context = this.#createContext()
		this.#context = context
		storage.run(context, () => {
			// Expensive, and only the functions of observers may have set the context of other libraries.
			if (this.#call.pipeline.observer?.run) this.#runInContext = captureContext()
			this.#driver.start(context)
		})
		return ended
	}

	#createContext(): GrpcServerContext {
		const attempt = this.#previousAttempts
		const call = this.#call
		const isOutermost = this.#host.settings.trustRetryHeaders && this.#headers.get(RETRY_LAYER) === OUTERMOST
		const nested = isOutermost ? 'outermost' : attempt > 0 ? 'innermost' : undefined
		if (nested) {
			const parent = new Context(call, call, attempt)
			const { deadline } = this
			this.#retryingCall = openCall(
				{
					deadline,
					parent,
					get signal() {
						return parent.signal
					},
				},
				nested,
				call.pipeline,
			)
		}
		return new RpcContext(this.#retryingCall ?? call, attempt, this, () => this.finish())
	}

	/** A malformed number counts as the first attempt. */
	get #previousAttempts(): number {
		if (!this.#host.settings.trustRetryHeaders) return 0
		const text = this.#headers.get(PREVIOUS_ATTEMPTS_KEY) ?? ''
		return /^\d{1,6}$/.test(text) ? Number(text) : 0
	}
}
