/**
 * One call on its way through the layers of a policy: a state machine without promises and without timers. A runner
 * carries it: it does the work when told `GO`, waits when told how long, and reports back. Production has an async
 * runner (runner.ts), virtual time one of callbacks (`yaoki/testing`); both drive this same machine, so what is
 * simulated is what runs.
 *
 * The layers form a flat list, outermost first. A call enters them in turn, leaving a `Visit` behind in each; on
 * the way out every visit is told the outcome, innermost first, and may ask for the part inside of it to run again.
 * The rejected design was a chain of functions around functions, which costs an async function for each layer.
 */
import type { Classification } from '../classify/classification.ts'
import { CANCELLED } from '../classify/classify.ts'
import {
	type AttemptNote,
	type AttemptOutcome,
	type CallRecord,
	remember,
	type StopReason,
} from '../explain/record.ts'
import { refuse } from '../options/rules.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { CallOptions } from './call-options.ts'
import { type CallContext, Context } from './context.ts'
import { decided } from './hooks.ts'
import { type LinkedSignal, linkSignal } from './linked-signal.ts'

/** What comes next: one of the two below or, from 0 up, a wait in milliseconds. A number, for it costs nothing. */
export type Step = number
/** Go on: further in, to the work; or further out, to the answer. */
export const GO = -1
/** The call is settled. */
export const DONE = -2

/** What surrounds a layer: handed to it by its pipeline, unless it was given its own. */
export interface Surroundings {
	readonly runtime: Runtime
	readonly classify: (error: unknown) => Classification
}

/** A layer in its place. */
export interface Seat extends Surroundings {
	readonly layer: Layer
	/** Where the part inside this layer begins. */
	readonly depth: number
}

/** The first half of a policy. It admits (`GO`), refuses (`call.settle`) or says how long to wait. */
export interface Layer {
	enter(call: Call, seat: Seat): Step
}

/**
 * The second half: one call inside one layer. An interface and not a base class: measured, a derived class costs a call half
 * a bare await more.
 */
export interface Visit {
	/** The visit of the next layer outwards; set by the call. */
	outer: Visit | undefined
	readonly seat: Seat
	/** The wait that this visit asked for is over. */
	resume(call: Call): Step
	/** Told the outcome: `GO` lets it pass, a number runs the inner part again after that wait. */
	leave(call: Call): Step
}

/** A policy made ready to run: its layers, and what belongs to the whole. */
export interface Plan extends Surroundings {
	readonly name: string
	readonly seats: readonly Seat[]
	/** How many calls have succeeded since the latest failure. */
	streak: number
}

/**
 * After this many successes in a row a plain call starts without a look at the clock, which would cost as much as the rest
 * of the policy. A failure or call options bring it back. What is lost, in the record of the first failure after a quiet
 * time, is the start of the call and with it the times since that start; nothing else depends on it.
 */
const QUIET_AFTER = 100

/** In the place of a depth: the call has been answered. */
const ENDED = -1

export class Call implements CallRecord {
	readonly plan: Plan
	readonly options: CallOptions | undefined
	/** From 0. */
	attempt = 0
	/** When the present attempt began, on the plan's clock; NaN when nobody looked. */
	startedAt: number = Number.NaN
	endedAt: number | undefined
	/** The outcome so far: `value` is the result, or the error when not `ok`. */
	ok = false
	value: unknown
	/** Why no more is tried, once that has been decided. */
	stop: StopReason | undefined
	/** The attempt that was written down last; it knows the one before. Undefined while nothing has gone wrong. */
	latest: AttemptNote | undefined
	/** Will somebody hold the result in a form by which `explain` can find the call again? An error always is one. */
	isSettled = false
	#top: Visit | undefined
	#depth = 0
	#link: LinkedSignal | undefined

	constructor(plan: Plan, options: CallOptions | undefined) {
		this.plan = plan
		this.options = options
	}

	begin(): Step {
		const { plan, options } = this
		if (options || plan.streak < QUIET_AFTER) this.startedAt = plan.runtime.now()
		return this.descend()
	}

	/** The context of the attempt that starts now. */
	context(): CallContext {
		return new Context(this, this.attempt)
	}

	signal(): AbortSignal {
		// After the end nothing is tied any more, for nobody would untie it.
		this.#link ??= linkSignal(this.#depth === ENDED ? { signal: this.options?.signal } : (this.options ?? {}))
		return this.#link[0]
	}

	get isAborted(): boolean {
		return this.options?.signal?.aborted === true
	}

	/** Who has ended the call from outside, if anyone has. */
	get cutOffBy(): 'deadline' | 'abort' | undefined {
		if (this.options?.deadline?.isExpired) return 'deadline'
		return this.isAborted ? 'abort' : undefined
	}

	/** A layer lets itself be told the outcome of what is inside it. */
	visit(visit: Visit): Step {
		visit.outer = this.#top
		this.#top = visit
		return GO
	}

	/** Calls `wake` when the time has come, or at once when the caller aborts. Neither leaves a timer or a listener. */
	pause(ms: number, wake: () => void): void {
		const signal = this.options?.signal
		const { runtime } = this.#top?.seat ?? this.plan
		if (!signal) {
			runtime.setTimer(ms, wake)
			return
		}
		let cancel: (() => void) | undefined
		const end = () => {
			cancel?.()
			signal.removeEventListener('abort', end)
			wake()
		}
		cancel = runtime.setTimer(ms, end)
		// A hook may have aborted just now, and a signal does not tell that twice.
		if (signal.aborted) end()
		else signal.addEventListener('abort', end)
	}

	/** A wait is over, or the caller's abort has cut it short. */
	resume(): Step {
		return this.descend(this.#top)
	}

	/** A repeater runs the part inside of it again. */
	nextAttempt(): Step {
		this.attempt++
		this.startedAt = this.plan.runtime.now()
		return GO
	}

	/** The work has answered, or a layer does not let the call in. */
	settle(ok: boolean, value: unknown): Step {
		this.ok = ok
		this.value = value
		if (ok && this.latest && this.isSettled) this.note('success')
		return this.turnBack()
	}

	/** What the present failure means to a layer. A user's hook may throw here. */
	judge({ classify }: Surroundings): Classification {
		const verdict = this.isAborted ? CANCELLED : decided('classify', classify(this.value))
		if (!verdict?.kind) refuse('classify(error)', verdict, 'a function that returns { kind, known }')
		this.note(verdict.kind)
		return verdict
	}

	/** Writes the present attempt down, or corrects what was written of it. */
	note(outcome: AttemptOutcome): void {
		const { latest, attempt, startedAt } = this
		if (latest?.attempt === attempt) {
			latest.outcome = outcome
		} else {
			const endedAt = this.plan.runtime.now()
			this.latest = {
				before: latest,
				attempt,
				startedAt,
				endedAt,
				outcome,
				error: this.ok ? undefined : this.value,
				delayMs: undefined,
				delaySource: undefined,
			}
		}
	}

	/** Inwards to the work: from where a wait has ended, or from the start. */
	descend(waiting?: Visit): Step {
		const { plan, options } = this
		try {
			if (this.isAborted) throw options?.signal?.reason
			if (options?.deadline && !options.deadline.onExpiry) {
				refuse('deadline', options.deadline, 'a Deadline, such as Deadline.after(5000)')
			}
			let step: Step = GO
			if (waiting) {
				this.#depth = waiting.seat.depth
				step = waiting.resume(this)
			}
			if (step === GO) options?.deadline?.throwIfExpired()
			for (let seat = plan.seats[this.#depth]; step === GO && seat; seat = plan.seats[this.#depth]) {
				this.#depth++
				step = seat.layer.enter(this, seat)
			}
			return step
		} catch (error) {
			this.stop = this.cutOffBy ?? 'hook-threw'
			return this.settle(false, error)
		}
	}

	/** Tells the outcome to the layers, from here outwards, until one wants to try again or all have been told. */
	turnBack(): Step {
		for (let visit = this.#top; visit; visit = this.#top) {
			try {
				const step = visit.leave(this)
				if (step !== GO) return step
				this.#top = visit.outer
			} catch (error) {
				this.hookThrew(error, visit)
			}
		}
		this.#link?.[1]?.()
		if (this.ok && !this.latest) this.plan.streak++
		else this.close()
		this.#depth = ENDED
		return DONE
	}

	/** The visit is told once more, of this error now; should it throw again, the call goes on without it. */
	hookThrew(error: unknown, visit?: Visit): void {
		if (this.latest?.attempt !== this.attempt) this.note(this.ok ? 'success' : 'transient')
		if (this.stop === 'hook-threw') this.#top = visit?.outer
		this.ok = false
		this.value = error
		this.stop = 'hook-threw'
	}

	/** Something went wrong on the way, so there is a record to end. */
	close(): void {
		const { plan, ok } = this
		plan.streak = 0
		if (ok && !this.isSettled) return
		try {
			if (!ok && !this.stop) this.judge(plan)
		} catch (error) {
			this.hookThrew(error)
		}
		this.stop ??= ok ? 'success' : 'not-retried'
		// An attempt that was not waited after has just been written down, and the clock been read for it.
		const { latest } = this
		this.endedAt = latest && latest.delayMs === undefined ? latest.endedAt : plan.runtime.now()
		if (!ok) remember(this.value, this)
	}
}
