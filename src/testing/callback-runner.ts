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

/** Receives the result once: `done()` or `done(null, value)` for a success, `done(error)` for a failure. */
export type DoneCallback<T> = (error?: unknown, value?: T) => void

/** An operation that passes its result to a callback, immediately or later. */
export type CallbackOperation<T> = (context: CallContext, done: DoneCallback<T>) => void

export function run<T, Substitute = never>(
	policy: Policy<Substitute>,
	operation: CallbackOperation<T>,
	done: DoneCallback<T | Substitute>,
	options?: CallOptions,
): void {
	const call = createCall(policy.compiled(), options, operation as Operation)
	if (call.pipeline.runner) call.rareState.branch = runBranch
	new CallbackRun(call, done).proceed(call.begin())
}

function runBranch(call: Call, step: Step, onEnd: () => void): void {
	call.rareState.branch = runBranch
	new CallbackRun(call, onEnd).proceed(step)
}

/** Calls that were woken while another one runs. They run after it, so that calls never nest. */
const woken: { proceed(): void }[] = []
let isBusy = false

/** Returns true if no call is running. The caller must then call `endTurn`. */
function beginTurn(): boolean {
	if (isBusy) return false
	isBusy = true
	return true
}

function endTurn(): void {
	try {
		for (let next = woken.shift(); next; next = woken.shift()) next.proceed()
	} finally {
		isBusy = false
	}
}

class CallbackRun<T> {
	readonly #call: Call
	readonly #done: DoneCallback<T>
	/** The next step after an operation that ended synchronously; the loop continues with it instead of recursing. */
	#nextStep: Step | undefined
	#isInOperation = false
	#isAsleep = false

	constructor(call: Call, done: DoneCallback<T>) {
		this.#call = call
		this.#done = done
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
		if (isBusy) woken.push(this)
		else this.proceed()
	}

	#attempt(): Step | undefined {
		const call = this.#call
		const runId = ++call.run
		let isPending = true
		this.#nextStep = undefined
		this.#isInOperation = true
		if (call.pipeline.runner) this.#sleep()
		const settle = (ok: boolean, value: unknown) => {
			if (!isPending) return
			isPending = false
			this.#settle(runId, ok, value)
		}
		try {
			this.#startOperation(settle)
		} catch (error) {
			settle(false, error)
		}
		this.#isInOperation = false
		if (isPending) notifyPending(call)
		return this.#nextStep
	}

	#settle(runId: number, ok: boolean, value: unknown): void {
		const isFirst = beginTurn()
		try {
			if (!endRun(this.#call, runId)) return
			this.#isAsleep = false
			const step = this.#call.settle(ok, value)
			if (this.#isInOperation) this.#nextStep = step
			else this.proceed(step)
		} finally {
			if (isFirst) endTurn()
		}
	}

	#startOperation(settle: (ok: boolean, value: unknown) => void): void {
		const call = this.#call
		const substitute = call.rare?.substitute
		if (!substitute) {
			const operation = call.operation as CallbackOperation<T>
			operation(call.context(), (error, value) => {
				const ok = error === undefined || error === null
				settle(ok, ok ? value : error)
			})
			return
		}
		const result = substitute(call.context())
		if (result instanceof Promise)
			result.then(
				(value) => settle(true, value),
				(error) => settle(false, error),
			)
		else settle(true, result)
	}

	#finish(): void {
		const { ok, value } = this.#call
		if (ok) this.#done(null, value as T)
		else this.#done(value)
	}
}
