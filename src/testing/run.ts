/**
 * The runner without promises: it drives the same call through the same policies as production does, with callbacks. In
 * virtual time a million calls run in a second or so, and one after the other in an order that never changes.
 */
import { Call, DONE, GO, type Step } from '../core/engine/call.ts'
import type { CallOptions } from '../core/engine/call-options.ts'
import type { CallContext } from '../core/engine/context.ts'
import type { Policy } from '../core/engine/policy.ts'

/** Told once how it ended: `done()` or `done(null, value)` for a success, `done(error)` for a failure. */
export type Done<T> = (error?: unknown, value?: T) => void

/** Work that answers through a callback, now or later. */
export type CallbackWork<T> = (context: CallContext, done: Done<T>) => void

export function run<T>(policy: Policy, work: CallbackWork<T>, done: Done<T>, options?: CallOptions): void {
	const call = new Call(policy.ready(), options)
	new CallbackRun(call, work, done).proceed(call.begin())
}

class CallbackRun<T> {
	readonly #call: Call
	readonly #work: CallbackWork<T>
	readonly #done: Done<T>
	/** What an attempt that answered before it returned wants next; the loop goes on with it instead of recursing. */
	#answered: Step | undefined
	#isInWork = false

	constructor(call: Call, work: CallbackWork<T>, done: Done<T>) {
		this.#call = call
		this.#work = work
		this.#done = done
	}

	proceed(from: Step): void {
		let step: Step | undefined = from
		while (step !== undefined && step !== DONE) {
			if (step === GO) step = this.#attempt()
			else if (step === 0) step = this.#call.resume()
			else {
				this.#call.pause(step, () => this.proceed(this.#call.resume()))
				return
			}
		}
		if (step === DONE) this.#finish()
	}

	#attempt(): Step | undefined {
		const call = this.#call
		let isOpen = true
		this.#answered = undefined
		this.#isInWork = true
		try {
			this.#work(call.context(), (error, value) => {
				if (!isOpen) return
				isOpen = false
				const ok = error === undefined || error === null
				this.#answer(call.settle(ok, ok ? value : error))
			})
		} catch (error) {
			if (isOpen) {
				isOpen = false
				this.#answered = call.settle(false, error)
			}
		}
		this.#isInWork = false
		return this.#answered
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
