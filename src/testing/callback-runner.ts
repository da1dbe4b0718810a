/**
 * Runs calls with callbacks instead of promises, through the same state machine and policies as in
 * production. In virtual time a million calls take about a second, and they run one after the other in an
 * order that never changes.
 */
import type { Call, Operation } from '../core/engine/call.ts'
import type { CallContext, CallOptions } from '../core/engine/call-options.ts'
import { CallbackDriver } from '../core/engine/callback-driver.ts'
import { beginRun, notifyPending } from '../core/engine/interrupt.ts'
import type { Step } from '../core/engine/layer.ts'
import { createCall, type Policy } from '../core/engine/policy.ts'
import { startWait } from '../core/engine/runner.ts'
import { beginTurn, endTurn, runLater } from './turns.ts'

/** Receives the result once: `done()` or `done(null, value)` for a success, `done(error)` for a failure. */
export type DoneCallback<T> = (error?: unknown, value?: T) => void

/** An operation that passes its result to a callback, immediately or later. */
export type CallbackOperation<T> = (context: CallContext, done: DoneCallback<T>) => void

/** What an operation has started. */
interface Abortable {
	/** The signal of the operation has aborted, and its result is ignored. */
	abort(): void
}

type AbortableOperation<T> = (context: CallContext, done: DoneCallback<T>) => Abortable | undefined

/**
 * Runs an operation under a policy. With `endsOnAbort` the operation ends as soon as a timeout or a hedge
 * aborts its signal, as if it listened to it, and what it returned is aborted. A signal with a listener for
 * each attempt would cost more than the rest of a simulated request.
 */
export function run<T, Substitute = never>(
	policy: Policy<Substitute>,
	operation: CallbackOperation<T> | AbortableOperation<T>,
	done: DoneCallback<T | Substitute>,
	options?: CallOptions,
	endsOnAbort = false,
): void {
	const call = createCall(policy.compiled(), options, operation as Operation)
	if (call.pipeline.runner) call.rareState.startBranch = endsOnAbort ? runAbortableBranch : runBranch
	new CallbackRun(call, done, endsOnAbort).proceed(call.begin())
}

/** Another branch that gets a slot from this one may start before the end of this one is known, as in production. */
function runBranch(call: Call, step: Step, onEnd: () => void): void {
	call.rareState.startBranch = runBranch
	new CallbackRun(call, () => runLater({ proceed: onEnd }), false).proceed(step)
}

/** A branch ends by the signals of the calls around it too, so its operation listens to its own. */
function runAbortableBranch(call: Call, step: Step, onEnd: () => void): void {
	call.rareState.startBranch = runAbortableBranch
	call.operation = listening(call.operation as AbortableOperation<unknown>) as Operation
	new CallbackRun(call, () => runLater({ proceed: onEnd }), false).proceed(step)
}

const listening =
	<T>(operation: AbortableOperation<T>): CallbackOperation<T> =>
	(context, done) => {
		const { signal } = context
		// Another branch may have won after this one was woken, and a signal emits `abort` only once.
		if (signal.aborted) return done(signal.reason)
		const started = operation(context, done)
		signal.addEventListener('abort', () => {
			done(signal.reason)
			started?.abort()
		})
	}

class CallbackRun<T> extends CallbackDriver {
	readonly #done: DoneCallback<T>
	readonly #endsOnAbort: boolean
	/** What the operation has started, while it is running. */
	#started: Abortable | undefined

	constructor(call: Call, done: DoneCallback<T>, endsOnAbort: boolean) {
		super(call)
		this.#done = done
		this.#endsOnAbort = endsOnAbort
	}

	/** Runs the call in a turn of its own. Without a step, a wait has ended or the call was interrupted. */
	override proceed(from: Step = this.call.resume()): void {
		const isFirst = beginTurn()
		try {
			super.proceed(from)
		} finally {
			if (isFirst) endTurn()
		}
	}

	/** An operation that ends on abort does not outlive its call, so the engine does not track it. */
	protected override beginRun(): number {
		const { call } = this
		if (call.pipeline.runner) this.sleep()
		return this.#endsOnAbort && !call.rare?.substitute ? ++call.run : beginRun(call)
	}

	protected override startAttempt(run: number): void {
		const { call } = this
		const { substitute } = call.rare ?? {}
		if (substitute) this.#startSubstitute(run, substitute)
		else
			this.#started = (call.operation as AbortableOperation<T>)(call.context(), (error, value) => {
				const ok = error === undefined || error === null
				this.#end(run, ok, ok ? value : error)
			})
	}

	#startSubstitute(run: number, substitute: (context: CallContext) => unknown): void {
		const result = substitute(this.call.context())
		if (result instanceof Promise)
			result.then(
				(value) => this.#end(run, true, value),
				(error) => this.#end(run, false, error),
			)
		else this.settle(run, true, result)
	}

	#end(run: number, ok: boolean, value: unknown): void {
		if (this.isStarting) this.settle(run, ok, value)
		else runLater({ proceed: () => this.settle(run, ok, value) })
	}

	override settle(run: number, ok: boolean, value: unknown): void {
		if (run === this.call.run) this.#started = undefined
		super.settle(run, ok, value)
	}

	/** A wait of 0 ms is over: in virtual time nothing else can run in it. */
	protected override wait(step: Step): Step | undefined {
		const { call } = this
		if (step === 'wait' && call.waitMs === 0) return call.resume()
		notifyPending(call)
		this.sleep()
		startWait(call, step)
		return undefined
	}

	protected override resumeLater(): void {
		if (this.#endsOnAbort && !this.call.isOver) {
			// The operation ends here: its later result belongs to an earlier run.
			this.call.run++
			this.#started?.abort()
			this.#started = undefined
		}
		runLater(this)
	}

	protected override onEnd(ok: boolean, value: unknown): void {
		if (ok) this.#done(null, value as T)
		else this.#done(value)
	}
}
