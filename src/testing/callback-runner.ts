/**
 * Runs calls with callbacks instead of promises, through the same state machine and policies as in production. In virtual
 * time a million calls take about a second, and they run one after the other in an order that never changes.
 */
import type { Call, Operation } from '../core/engine/call.ts'
import type { CallContext, CallOptions } from '../core/engine/call-options.ts'
import { endRun, notifyPending } from '../core/engine/interrupt.ts'
import { DONE, GO, REJECTED, type Step, SUBSTITUTE } from '../core/engine/layer.ts'
import { createCall, type Policy } from '../core/engine/policy.ts'
import { createRejection } from '../core/engine/rejection.ts'
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
 * Runs an operation under a policy. With `endsOnAbort` the operation ends as soon as a timeout or a hedge aborts its signal, as if it
 * listened to it, and what it returned is aborted. A signal with a listener for each attempt would cost more than the rest of a
 * simulated request.
 */
export function run<T, Substitute = never>(
	policy: Policy<Substitute>,
	operation: CallbackOperation<T> | AbortableOperation<T>,
	done: DoneCallback<T | Substitute>,
	options?: CallOptions,
	endsOnAbort = false,
): void {
	const call = createCall(policy.compiled(), options, operation as Operation)
	if (call.pipeline.runner) call.rareState.branch = endsOnAbort ? runAbortableBranch : runBranch
	new CallbackRun(call, done, endsOnAbort).proceed(call.begin())
}

/** Another branch that gets a slot from this one may start before the end of this one is known, as in production. */
function runBranch(call: Call, step: Step, onEnd: () => void): void {
	call.rareState.branch = runBranch
	new CallbackRun(call, () => runLater({ proceed: onEnd }), false).proceed(step)
}

/** A branch ends by the signals of the calls around it too, so its operation listens to its own. */
function runAbortableBranch(call: Call, step: Step, onEnd: () => void): void {
	call.rareState.branch = runAbortableBranch
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

class CallbackRun<T> {
	readonly #call: Call
	readonly #done: DoneCallback<T>
	/** The next step after an operation that ended synchronously; the loop continues with it instead of recursing. */
	#nextStep: Step | undefined
	#isInOperation = false
	#isAsleep = false
	readonly #endsOnAbort: boolean
	/** What the operation has started, while it is running. */
	#started: Abortable | undefined

	constructor(call: Call, done: DoneCallback<T>, endsOnAbort: boolean) {
		this.#call = call
		this.#done = done
		this.#endsOnAbort = endsOnAbort
	}

	/** Without a step, a wait has ended or the call was interrupted. */
	proceed(from?: Step): void {
		const isFirst = beginTurn()
		try {
			this.#proceed(from ?? this.#call.resume())
		} finally {
			if (isFirst) endTurn()
		}
	}

	#proceed(from: Step): void {
		const call = this.#call
		let step: Step | undefined = from === REJECTED ? DONE : from
		if (from === REJECTED) createRejection(call)
		while (step !== undefined && step !== DONE) {
			if (step === GO || step === SUBSTITUTE) step = this.#attempt()
			else if (step === 0) step = call.resume()
			else {
				notifyPending(call)
				this.#sleep()
				startWait(call, step)
				return
			}
		}
		if (step === DONE) this.#finish()
	}

	#sleep(): void {
		this.#isAsleep = true
		this.#call.wake = this.#wake
	}

	readonly #wake = (): void => {
		if (!this.#isAsleep) return
		this.#isAsleep = false
		// Its operation ends here: a later result is that of an earlier run.
		if (this.#endsOnAbort && this.#call.run > 0) {
			this.#call.run += 2
			this.#started?.abort()
			this.#started = undefined
		}
		runLater(this)
	}

	#attempt(): Step | undefined {
		const call = this.#call
		if (call.pipeline.runner) this.#sleep()
		if (call.rare?.substitute) return this.#runSubstitute(call.rare.substitute)
		// An even number means that no operation outlives its call, so that the engine does not track it.
		call.run += this.#endsOnAbort ? 2 : 1
		const runId = call.run
		let isPending = true
		this.#nextStep = undefined
		this.#isInOperation = true
		const done = (error?: unknown, value?: unknown) => {
			if (!isPending) return
			isPending = false
			const ok = error === undefined || error === null
			this.#end(runId, ok, ok ? value : error)
		}
		try {
			this.#started = (call.operation as AbortableOperation<T>)(call.context(), done)
		} catch (error) {
			if (isPending) this.#end(runId, false, error)
			isPending = false
		}
		this.#isInOperation = false
		if (isPending) notifyPending(call)
		return this.#nextStep
	}

	#runSubstitute(substitute: (context: CallContext) => unknown): Step | undefined {
		const call = this.#call
		const runId = ++call.run
		let result: unknown
		try {
			result = substitute(call.context())
		} catch (error) {
			return this.#settle(runId, false, error)
		}
		if (!(result instanceof Promise)) return this.#settle(runId, true, result)
		result.then(
			(value) => this.#end(runId, true, value),
			(error) => this.#end(runId, false, error),
		)
		notifyPending(call)
		return undefined
	}

	#end(runId: number, ok: boolean, value: unknown): void {
		if (this.#isInOperation) this.#nextStep = this.#settle(runId, ok, value)
		else
			runLater({
				proceed: () => {
					const step = this.#settle(runId, ok, value)
					if (step !== undefined) this.#proceed(step)
				},
			})
	}

	/** Returns the next step; undefined if the call no longer waits for this run. */
	#settle(runId: number, ok: boolean, value: unknown): Step | undefined {
		if (!endRun(this.#call, runId)) return undefined
		// Even again, whatever kind of run has ended.
		if (runId % 2 === 0) this.#call.run++
		this.#isAsleep = false
		this.#started = undefined
		return this.#call.settle(ok, value)
	}

	#finish(): void {
		const { ok, value } = this.#call
		if (ok) this.#done(null, value as T)
		else this.#done(value)
	}
}
