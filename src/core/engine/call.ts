/**
 * One call on its way through the layers of a policy: a state machine without promises and without timers. A runner
 * carries it: it does the work when told `GO`, waits when told how long, and reports back. Production has an async
 * runner (runner.ts), virtual time one of callbacks (`yaoki/testing`); both drive this same machine, so what is
 * simulated is what runs.
 *
 * The layers form a chain, outermost first. A call enters them in turn; on the way out each that it visits is told the
 * outcome, innermost first, and may ask for the part inside of it to run again.
 * The rejected design was a chain of functions around functions, which costs an async function for each layer.
 */
import type { Classification } from '../classify/classification.ts'
import { InvalidOptionError } from '../errors/errors.ts'
import type { AttemptNote, CallRecord, StopReason } from '../explain/record.ts'
import { refuse } from '../options/rules.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { AsideOf } from './aside.ts'
import { type CallContext, type CallOptions, completed } from './call-options.ts'
import { Context } from './context.ts'
import { DONE, GO, type LayerOf, type PlanOf, type SeatOf, type Step, type Surroundings } from './layer.ts'
import { endRecord, isInnerFailure, judge, note } from './record-keeping.ts'
import { type Scope, signalOf, type Tie } from './scope.ts'

export type Aside = AsideOf<Call>
export type Layer = LayerOf<Call>
export type Seat<L = Layer> = SeatOf<Call, L>
export type Plan = PlanOf<Call>

/**
 * After this many successes in a row a plain call starts without a look at the clock, which would cost as much as the rest
 * of the policy. A failure or call options bring it back. What is lost, in the record of the first failure after a quiet
 * time, is the start of the call and with it the times since that start; nothing else depends on it.
 */
const QUIET_AFTER = 100

/** In the place of a turn: the call has been answered, and every result is late. */
export const OVER: number = -(2 ** 30)

/** Work of either runner; the second parameter is the callback of the one without promises. */
export type Work = (context: CallContext, done: never) => unknown

export class Call implements CallRecord, Scope {
	readonly plan: Plan
	readonly options: CallOptions | undefined
	readonly work: Work
	/** From 0. */
	attempt = 0
	/** When the present attempt began, on the plan's clock; undefined when nobody looked. */
	startedAt: number | undefined
	/** The outcome so far: `value` is the result, or the error when not `ok`. */
	ok = false
	value: unknown
	/** Why no more is tried, once that has been decided. */
	stop: StopReason | undefined
	/** The attempt that was written down last; it knows the one before. Undefined while nothing has gone wrong. */
	latest: AttemptNote | undefined
	/** The innermost layer that it visits. */
	at: Seat | undefined
	/** The layer to enter next; undefined at the work. */
	next: Seat | undefined
	/** The innermost part that can be aborted on its own. */
	scope: Scope = this
	/** What the layers remember of this call, by their places. Fields, for a list is dear and few pipelines are deeper. */
	state0: unknown
	state1: unknown
	state2: unknown
	state3: unknown
	/** Ends the present wait or, after an interruption, the wait for the work. Set by the runner. */
	wake: (() => void) | undefined
	/** Odd while the work is being done. A result of another turn comes too late. */
	turn = 0
	aside: Aside | undefined

	constructor(plan: Plan, options: CallOptions | undefined, work: Work) {
		this.plan = plan
		this.options = options?.within ? completed(options, options.within) : options
		this.work = work
	}

	begin(): Step {
		const { plan, options } = this
		this.next = plan.first
		if (options || plan.streak < QUIET_AFTER) this.startedAt = plan.runtime.now()
		// Refused before any layer is entered: there is nothing to count, to repeat or to stand in for.
		if (typeof this.work !== 'function')
			return this.refuse(new InvalidOptionError('fn', this.work, 'a function'), 'hook-threw')
		return this.descend()
	}

	/** The context of the attempt that starts now. */
	context(): CallContext {
		return new Context(this, this.scope, this.attempt)
	}

	get tie(): Tie | undefined {
		return this.aside?.tie
	}

	set tie(tie: Tie) {
		this.extra.tie = tie
	}

	get abortsItself(): boolean {
		return this.aside?.within !== undefined
	}

	/** After the end nothing is tied any more, for nobody would untie it. */
	abortedBy(): CallOptions | undefined {
		const { options, aside } = this
		if (aside?.within) return { signal: signalOf(aside.within) }
		return this.isOver ? { signal: options?.signal } : options
	}

	/** Has it been answered? */
	get isOver(): boolean {
		return this.turn < 0
	}

	get isAborted(): boolean {
		return this.options?.signal?.aborted === true
	}

	/** Who has ended the call from outside, if anyone has. */
	get cutOffBy(): 'deadline' | 'abort' | undefined {
		if (this.options?.deadline?.isExpired) return 'deadline'
		return this.isAborted ? 'abort' : undefined
	}

	/** The time, read once for all layers that are entered in one go. */
	now(runtime: Runtime): number {
		if (runtime !== this.plan.runtime) return runtime.now()
		this.startedAt ??= runtime.now()
		return this.startedAt
	}

	/** What few calls have, made when it is needed. */
	get extra(): Aside {
		this.aside ??= {}
		return this.aside
	}

	/** A layer lets itself be told the outcome of what is inside it, and may have something kept until then. */
	visit(seat: Seat, state?: unknown): Step {
		this.at = seat
		const { place } = seat
		if (place === 0) this.state0 = state
		else if (place === 1) this.state1 = state
		else if (place === 2) this.state2 = state
		else if (place === 3) this.state3 = state
		else {
			const { extra } = this
			extra.states ??= []
			extra.states[place] = state
		}
		return GO
	}

	/** What a layer keeps here. */
	kept({ place }: Seat): unknown {
		if (place === 0) return this.state0
		if (place === 1) return this.state1
		if (place === 2) return this.state2
		return place === 3 ? this.state3 : this.aside?.states?.[place]
	}

	/** This takes a while: what is dear to have for every call is made now. */
	linger(): void {
		// What is around a branch is the affair of the call that it is a branch of.
		const around = this.aside?.branchPlace ?? -1
		for (let seat = this.at; seat && seat.place > around; seat = seat.outer) seat.layer.linger?.(this, seat)
	}

	/** A wait is over, or was cut short by the caller's abort or an interruption. */
	resume(): Step {
		return this.aside?.cut?.carryOut() ?? this.descend(this.at)
	}

	/** A repeater runs the part inside of it again. */
	nextAttempt(): Step {
		this.attempt++
		this.startedAt = this.plan.runtime.now()
		return GO
	}

	/** The work has answered. */
	settle(ok: boolean, value: unknown): Step {
		this.ok = ok
		this.value = value
		if (ok) {
			if (this.latest && this.aside?.isSettled && !this.aside.instead) note(this, 'success')
		} else if (isInnerFailure(this)) this.stop ??= 'inner-retry'
		return this.turnBack()
	}

	/** A layer does not let the call in. */
	refuse(error: unknown, stop: StopReason = 'refused', until?: Seat): Step {
		this.ok = false
		this.value = error
		this.stop = stop
		return this.turnBack(until)
	}

	/** What the present failure means to a layer. A user's hook may throw here. */
	judge({ classify }: Surroundings): Classification {
		return judge(this, classify)
	}

	/** Inwards to the work: from where a wait has ended, or from the start. */
	descend(waiting?: Seat): Step {
		const { options } = this
		try {
			if (this.isAborted) throw options?.signal?.reason
			if (options?.deadline && !options.deadline.onExpiry)
				refuse('deadline', options.deadline, 'a Deadline: Deadline.after(ms)')
			if (options?.signal && !options.signal.addEventListener)
				refuse('signal', options.signal, 'an AbortSignal')
			let step: Step = GO
			if (waiting) {
				this.next = waiting.next
				step = waiting.layer.resume?.(this, waiting) ?? GO
			}
			if (step === GO) options?.deadline?.throwIfExpired()
			for (let seat = this.next; step === GO && seat; seat = this.next) {
				this.next = seat.next
				step = seat.layer.enter(this, seat)
			}
			return step
		} catch (error) {
			return this.refuse(error, this.cutOffBy ?? 'hook-threw')
		}
	}

	/** Tells the outcome to the layers, from here out to `until`, unless one wants to try again. */
	turnBack(until?: Seat): Step {
		for (let seat = this.at; seat && seat !== until; seat = this.at) {
			try {
				const step = seat.layer.leave(this, seat)
				if (step !== GO && !this.aside?.cut) return step
				this.at = seat.outer
			} catch (error) {
				this.hookThrew(error, seat)
			}
		}
		if (until) return GO
		this.aside?.tie?.untie?.()
		if (this.ok && !this.latest) this.plan.streak++
		else this.close()
		this.turn = OVER
		return DONE
	}

	/** The work begins. */
	beginTurn(): number {
		return ++this.turn
	}

	/** The work of a turn has ended. Answers whether that is still waited for. */
	endTurn(turn: number): boolean {
		const isInTime = turn === this.turn
		if (isInTime) this.turn++
		else
			for (const late of this.aside?.late ?? [])
				if (late.turn === turn && late.place === Infinity) for (const end of late.onEnd.splice(0)) end()
		return isInTime
	}

	/** The layer is told once more, of this error now; should it throw again, the call goes on without it. */
	hookThrew(error: unknown, seat?: Seat): void {
		if (this.latest?.attempt !== this.attempt) note(this, this.ok ? 'success' : 'transient')
		if (this.stop === 'hook-threw') this.at = seat?.outer
		this.ok = false
		this.value = error
		this.stop = 'hook-threw'
	}

	/** Something went wrong on the way, so there is a record to end. */
	close(): void {
		const { plan, ok } = this
		plan.streak = 0
		if (ok && !this.aside?.isSettled) return
		try {
			if (!ok && (!this.stop || this.stop === 'inner-retry')) this.judge(plan)
		} catch (error) {
			this.hookThrew(error)
		}
		endRecord(this)
	}

	/** The call that this one is part of, if it is known. */
	get around(): Call | undefined {
		const around = Context.callOf(Context.of(this.options))
		return around instanceof Call ? around : undefined
	}
}
