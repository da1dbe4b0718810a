/**
 * The runner without promises: it drives the same call through the same policies as production does, with callbacks. In
 * virtual time a million calls run in a second or so, and one after the other in an order that never changes.
 */
import { Call, type Operation } from '../core/engine/call.ts'
import type { CallContext, CallOptions } from '../core/engine/call-options.ts'
import { DONE, GO, REJECTED, type Step, SUBSTITUTE } from '../core/engine/layer.ts'
import type { Policy } from '../core/engine/policy.ts'
import { createRejection } from '../core/engine/rejection.ts'
import { startWait } from '../core/engine/runner.ts'

/** Told once how it ended: `done()` or `done(null, value)` for a success, `done(error)` for a failure. */
export type DoneCallback<T> = (error?: unknown, value?: T) => void

/** Work that answers through a callback, now or later. */
export type CallbackWork<T> = (context: CallContext, done: DoneCallback<T>) => void

export function run<T>(
	policy: Policy,
	work: CallbackWork<T>,
	done: DoneCallback<T>,
	options?: CallOptions,
): void {
	const call = new Call(policy.compiled(), options, work as Operation)
	if (call.pipeline.runner) call.rareState.branch = branch
	new CallbackRun(call, work, done).proceed(call.begin())
}

function branch(call: Call, step: Step, ended: () => void): void {
	call.rareState.branch = branch
	new CallbackRun(call, call.operation as CallbackWork<unknown>, ended).proceed(step)
}

/** Woken calls whose turn comes when the present one is done: nobody is called from within another call's end. */
const woken: { proceed(): void }[] = []
let isBusy = false

/** Answers whether nobody else is at it. Whoever gets that answer must end the turn as well. */
function beginsTurn(): boolean {
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
	readonly #work: CallbackWork<T>
	readonly #done: DoneCallback<T>
	/** What an attempt that answered before it returned wants next; the loop goes on with it instead of recursing. */
	#answered: Step | undefined
	#isInWork = false
	#isAsleep = false

	constructor(call: Call, work: CallbackWork<T>, done: DoneCallback<T>) {
		this.#call = call
		this.#work = work
		this.#done = done
	}

	/** Without a step, a wait is over or an interruption has come. */
	proceed(from?: Step): void {
		const isFirst = beginsTurn()
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
				call.onPending()
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
		const turn = call.beginRun()
		let isOpen = true
		this.#answered = undefined
		this.#isInWork = true
		if (call.pipeline.runner) this.#sleep()
		const settle = (ok: boolean, value: unknown) => {
			if (!isOpen) return
			isOpen = false
			this.#settled(turn, ok, value)
		}
		try {
			this.#begin(settle)
		} catch (error) {
			settle(false, error)
		}
		this.#isInWork = false
		if (isOpen) call.onPending()
		return this.#answered
	}

	#settled(turn: number, ok: boolean, value: unknown): void {
		const isFirst = beginsTurn()
		try {
			if (!this.#call.endRun(turn)) return
			this.#isAsleep = false
			this.#answer(this.#call.settle(ok, value))
		} finally {
			if (isFirst) endTurn()
		}
	}

	#begin(settle: (ok: boolean, value: unknown) => void): void {
		const call = this.#call
		const instead = call.rare?.substitute
		if (!instead) {
			this.#work(call.context(), (error, value) => {
				const ok = error === undefined || error === null
				settle(ok, ok ? value : error)
			})
			return
		}
		const answer = instead(call.context())
		if (answer instanceof Promise)
			answer.then(
				(value) => settle(true, value),
				(error) => settle(false, error),
			)
		else settle(true, answer)
	}

	#answer(step: Step): void {
		if (this.#isInWork) this.#answered = step
		else this.proceed(step)
	}

	#finish(): void {
		const { ok, value } = this.#call
		if (ok) this.#done(null, value as T)
		else this.#done(value)
	}
}
