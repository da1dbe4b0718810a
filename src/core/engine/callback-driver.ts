/**
 * Drives a call with callbacks instead of promises, through the same state machine. A host says how an
 * attempt starts, how a call continues after a wait, and what happens at its end. There are two: virtual time
 * (`yaoki/testing`), where promises would take most of the time, and grpc-js, where they would take more
 * memory than the rest of the interceptor.
 */
import type { Call } from './call.ts'
import { endRun, notifyPending } from './interrupt.ts'
import type { Step } from './layer.ts'
import { createRejection } from './rejection.ts'
import { startWait } from './runner.ts'

export abstract class CallbackDriver {
	readonly call: Call
	/** True while an attempt starts: it may end before it has started. */
	#isStarting = false
	/** The next step after an attempt that ended while it started. The loop continues with it instead of recursing. */
	#nextStep: Step | undefined
	/** True while `call.wake` continues the call: it waits, or a layer may interrupt it. */
	#isAsleep = false

	constructor(call: Call) {
		this.call = call
	}

	/** Starts an attempt. When it has ended, which may be immediately, the host calls `settle` with the same number. */
	protected abstract startAttempt(run: number): void

	/** Starts a run and returns its number. */
	protected abstract beginRun(): number

	/** The call was woken. Calls `resume`, but not now: the end of another call may have woken this one. */
	protected abstract resumeLater(): void

	/** The call has ended. */
	protected abstract onEnd(ok: boolean, value: unknown): void

	protected get isStarting(): boolean {
		return this.#isStarting
	}

	protected get isAsleep(): boolean {
		return this.#isAsleep
	}

	/** Runs the call from this step on until it waits, an attempt is pending, or the call has ended. */
	proceed(from: Step): void {
		const { call } = this
		let step: Step | undefined = from
		if (from === 'rejected') {
			createRejection(call)
			step = 'done'
		}
		while (step !== undefined && step !== 'done') step = step === 'run' ? this.#attempt() : this.wait(step)
		if (step === 'done') this.onEnd(call.ok, call.value)
	}

	/** The wait is over, or the call was interrupted. */
	resume(): void {
		this.proceed(this.call.resume())
	}

	/** Begins a wait. Returns the next step if it is over already. */
	protected wait(step: Step): Step | undefined {
		this.sleep()
		startWait(this.call, step)
		notifyPending(this.call)
		return undefined
	}

	/** From now on `call.wake` continues the call. */
	protected sleep(): void {
		this.#isAsleep = true
		this.call.wake = () => this.#wake()
	}

	/** An attempt has ended. A result that the call no longer waits for is ignored. */
	settle(run: number, ok: boolean, value: unknown): void {
		const { call } = this
		if (!endRun(call, run)) return
		this.#isAsleep = false
		const step = call.settle(ok, value)
		if (this.#isStarting) this.#nextStep = step
		else this.proceed(step)
	}

	#attempt(): Step | undefined {
		const run = this.beginRun()
		this.#isStarting = true
		this.#nextStep = undefined
		try {
			this.startAttempt(run)
		} catch (error) {
			this.settle(run, false, error)
		}
		this.#isStarting = false
		if (this.#nextStep === undefined) notifyPending(this.call)
		return this.#nextStep
	}

	#wake(): void {
		if (!this.#isAsleep) return
		this.#isAsleep = false
		this.resumeLater()
	}
}
