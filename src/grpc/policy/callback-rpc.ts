/**
 * A gRPC call that callbacks drive: grpc-js works with callbacks, and the promises around a call that
 * succeeds would take more memory than the rest of the interceptor (measured: 2.4 of 4.5 kB). What follows a
 * wait runs in the async context of the caller, and not in that of a timer or of the connection.
 */
import { type Call, countAttempt } from '../../core/engine/call.ts'
import { CallbackDriver } from '../../core/engine/callback-driver.ts'
import { beginRun, interrupt } from '../../core/engine/interrupt.ts'
import { type AsyncScope, captureScope } from '../../node/storage.ts'
import type { GrpcEngine } from './grpc-engine.ts'
import type { Rpc } from './rpc.ts'

/** What the driver needs of a call. */
interface DrivenRpc {
	/** True if a hedge may interrupt an attempt. */
	readonly isHedged: boolean
	startAttempt(run: number): void
	onEnd(ok: boolean, value: unknown): void
}

export abstract class CallbackRpc implements DrivenRpc {
	readonly rpc: Rpc
	/** Undefined before the call begins, and if promises run it, because a tracer runs functions around it. */
	#driver: RpcDriver | undefined

	constructor(rpc: Rpc) {
		this.rpc = rpc
	}

	/** Starts an attempt. When it has ended, it must call `settle` with the same number. */
	abstract startAttempt(run: number): void

	/** The call has ended. */
	abstract onEnd(ok: boolean, value: unknown): void

	get isHedged(): boolean {
		return this.rpc.target.config?.hedgingPolicy !== undefined
	}

	/** Begins the call. It may end before this returns. */
	protected begin(call: Call, engine: GrpcEngine): void {
		if (call.pipeline.observer?.run)
			void engine.run(call).then(
				() => this.onEnd(true, undefined),
				(error) => this.onEnd(false, error),
			)
		else {
			this.#driver = new RpcDriver(call, this)
			this.#driver.proceed(engine.begin(call))
		}
	}

	/** An attempt has ended. */
	protected settle(run: number, ok: boolean, value: unknown): void {
		this.#driver?.settle(run, ok, value)
	}

	/**
	 * Ends the call with this error. In a microtask, because a listener of the call's own events may ask for
	 * it.
	 */
	protected interrupt(error: unknown): void {
		queueMicrotask(() => {
			const { call } = this.rpc
			if (!call || call.isOver) return
			if (this.#driver) this.#driver.interrupt(error)
			else interrupt(call, undefined, call, error, 'abort')
		})
	}
}

class RpcDriver extends CallbackDriver {
	readonly #rpc: DrivenRpc
	/** The async context of the caller. */
	readonly #scope: AsyncScope | undefined = captureScope()
	#isWaking = false

	constructor(call: Call, rpc: DrivenRpc) {
		super(call)
		this.#rpc = rpc
	}

	/** Ends the call with this error. */
	interrupt(error: unknown): void {
		const { call } = this
		const continues = this.isAsleep || this.#isWaking
		interrupt(call, undefined, call, error, 'abort')
		if (!continues) this.resume()
	}

	protected override beginRun(): number {
		if (this.#rpc.isHedged) this.sleep()
		return beginRun(this.call)
	}

	protected override startAttempt(run: number): void {
		countAttempt(this.call)
		this.#rpc.startAttempt(run)
	}

	/** In a microtask: a caller's error would otherwise become an error of the call that has woken this one. */
	protected override resumeLater(): void {
		this.#isWaking = true
		const resume = () => {
			this.#isWaking = false
			this.resume()
		}
		queueMicrotask(() => (this.#scope ? this.#scope.runInAsyncScope(resume) : resume()))
	}

	protected override onEnd(ok: boolean, value: unknown): void {
		this.#rpc.onEnd(ok, value)
	}
}
