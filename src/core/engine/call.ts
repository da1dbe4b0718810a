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
import type { AttemptEntry, CallRecord, StopReason } from '../explain/record.ts'
import { invalidOption } from '../options/schema.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { type CallContext, type CallOptions, inheritCallOptions } from './call-options.ts'
import { classifyFailure, closeRecord, isInnerFailure, recordAttempt } from './call-record.ts'
import { Context } from './context.ts'
import {
	type BoundLayerOf,
	type CompiledPipelineOf,
	DONE,
	GO,
	type LayerEnv,
	type LayerOf,
	OVER,
	type RareStateOf,
	type Step,
} from './layer.ts'
import { type Scope, type SignalLink, scopeSignal } from './scope.ts'

export type RareState = RareStateOf<Call>
export type Layer = LayerOf<Call>
export type BoundLayer<L = Layer> = BoundLayerOf<Call, L>
export type CompiledPipeline = CompiledPipelineOf<Call>

/**
 * After this many successes in a row a plain call starts without a look at the clock, which would cost as much as the rest
 * of the policy. A failure or call options bring it back. What is lost, in the record of the first failure after a quiet
 * time, is the start of the call and with it the times since that start; nothing else depends on it.
 */
const SKIP_CLOCK_AFTER = 100

/** Work of either runner; the second parameter is the callback of the one without promises. */
export type Operation = (context: CallContext, done: never) => unknown

export class Call implements CallRecord, Scope {
	readonly pipeline: CompiledPipeline
	readonly options: CallOptions | undefined
	readonly operation: Operation
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
	lastAttempt: AttemptEntry | undefined
	/** The innermost layer that it visits. */
	current: BoundLayer | undefined
	/** The layer to enter next; undefined at the work. */
	next: BoundLayer | undefined
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
	run = 0
	rare: RareState | undefined

	constructor(plan: CompiledPipeline, options: CallOptions | undefined, work: Operation) {
		this.pipeline = plan
		this.options = options?.parent ? inheritCallOptions(options, options.parent) : options
		this.operation = work
	}

	begin(): Step {
		const { pipeline, options } = this
		this.next = pipeline.first
		if (options || pipeline.consecutiveSuccesses < SKIP_CLOCK_AFTER) this.startedAt = pipeline.runtime.now()
		// Refused before any layer is entered: there is nothing to count, to repeat or to stand in for.
		if (typeof this.operation !== 'function')
			return this.reject(new InvalidOptionError('fn', this.operation, 'a function'), 'hook-threw')
		return this.runEnter()
	}

	/** The context of the attempt that starts now. */
	context(): CallContext {
		return new Context(this, this.scope, this.attempt)
	}

	get link(): SignalLink | undefined {
		return this.rare?.link
	}

	set link(tie: SignalLink) {
		this.rareState.link = tie
	}

	get abortsItself(): boolean {
		return this.rare?.parentScope !== undefined
	}

	/** After the end nothing is tied any more, for nobody would untie it. */
	abortedBy(): CallOptions | undefined {
		const { options, rare } = this
		if (rare?.parentScope) return { signal: scopeSignal(rare.parentScope) }
		return this.isOver ? { signal: options?.signal } : options
	}

	/** Has it been answered? */
	get isOver(): boolean {
		return this.run < 0
	}

	get isAborted(): boolean {
		return this.options?.signal?.aborted === true
	}

	/** Who has ended the call from outside, if anyone has. */
	get cancelledBy(): 'deadline' | 'abort' | undefined {
		if (this.options?.deadline?.isExpired) return 'deadline'
		return this.isAborted ? 'abort' : undefined
	}

	/** The time, read once for all layers that are entered in one go. */
	now(runtime: Runtime): number {
		if (runtime !== this.pipeline.runtime) return runtime.now()
		this.startedAt ??= runtime.now()
		return this.startedAt
	}

	/** What few calls have, made when it is needed. */
	get rareState(): RareState {
		this.rare ??= {}
		return this.rare
	}

	/** A layer lets itself be told the outcome of what is inside it, and may have something kept until then. */
	enterLayer(bound: BoundLayer, state?: unknown): Step {
		this.current = bound
		const { index } = bound
		if (index === 0) this.state0 = state
		else if (index === 1) this.state1 = state
		else if (index === 2) this.state2 = state
		else if (index === 3) this.state3 = state
		else {
			const { rareState } = this
			rareState.states ??= []
			rareState.states[index] = state
		}
		return GO
	}

	/** What a layer keeps here. */
	layerState({ index }: BoundLayer): unknown {
		if (index === 0) return this.state0
		if (index === 1) return this.state1
		if (index === 2) return this.state2
		return index === 3 ? this.state3 : this.rare?.states?.[index]
	}

	/** This takes a while: what is dear to have for every call is made now. */
	onPending(): void {
		// What is around a branch is the affair of the call that it is a branch of.
		const around = this.rare?.branchIndex ?? -1
		for (let bound = this.current; bound && bound.index > around; bound = bound.outer)
			bound.layer.onPending?.(this, bound)
	}

	/** A wait is over, or was cut short by the caller's abort or an interruption. */
	resume(): Step {
		return this.rare?.interruption?.unwind() ?? this.runEnter(this.current)
	}

	/** A repeater runs the part inside of it again. */
	nextAttempt(): Step {
		this.attempt++
		this.startedAt = this.pipeline.runtime.now()
		return GO
	}

	/** The work has answered. */
	settle(ok: boolean, value: unknown): Step {
		this.ok = ok
		this.value = value
		if (ok) {
			if (this.lastAttempt && this.rare?.keepsRecord && !this.rare.substitute) recordAttempt(this, 'success')
		} else if (isInnerFailure(this)) this.stop ??= 'inner-retry'
		return this.runLeave()
	}

	/** A layer does not let the call in. */
	reject(error: unknown, stop: StopReason = 'rejected', until?: BoundLayer): Step {
		this.ok = false
		this.value = error
		this.stop = stop
		return this.runLeave(until)
	}

	/** What the present failure means to a layer. A user's hook may throw here. */
	classify({ classify }: LayerEnv): Classification {
		return classifyFailure(this, classify)
	}

	/** Inwards to the work: from where a wait has ended, or from the start. */
	runEnter(waiting?: BoundLayer): Step {
		const { options } = this
		try {
			if (this.isAborted) throw options?.signal?.reason
			if (options?.deadline && !options.deadline.onExpiry)
				invalidOption('deadline', options.deadline, 'a Deadline: Deadline.after(ms)')
			if (options?.signal && !options.signal.addEventListener)
				invalidOption('signal', options.signal, 'an AbortSignal')
			let step: Step = GO
			if (waiting) {
				this.next = waiting.next
				step = waiting.layer.resume?.(this, waiting) ?? GO
			}
			if (step === GO) options?.deadline?.throwIfExpired()
			for (let bound = this.next; step === GO && bound; bound = this.next) {
				this.next = bound.next
				step = bound.layer.enter(this, bound)
			}
			return step
		} catch (error) {
			return this.reject(error, this.cancelledBy ?? 'hook-threw')
		}
	}

	/** Tells the outcome to the layers, from here out to `until`, unless one wants to try again. */
	runLeave(until?: BoundLayer): Step {
		for (let bound = this.current; bound && bound !== until; bound = this.current) {
			try {
				const step = bound.layer.leave(this, bound)
				if (step !== GO && !this.rare?.interruption) return step
				this.current = bound.outer
			} catch (error) {
				this.hookThrew(error, bound)
			}
		}
		if (until) return GO
		this.rare?.link?.unlink?.()
		if (this.ok && !this.lastAttempt) this.pipeline.consecutiveSuccesses++
		else this.close()
		this.run = OVER
		return DONE
	}

	/** The work begins. */
	beginRun(): number {
		return ++this.run
	}

	/** The work of a turn has ended. Answers whether that is still waited for. */
	endRun(turn: number): boolean {
		const isInTime = turn === this.run
		if (isInTime) this.run++
		else
			for (const late of this.rare?.orphans ?? [])
				if (late.run === turn && late.index === Infinity) for (const end of late.onEnd.splice(0)) end()
		return isInTime
	}

	/** The layer is told once more, of this error now; should it throw again, the call goes on without it. */
	hookThrew(error: unknown, bound?: BoundLayer): void {
		if (this.lastAttempt?.attempt !== this.attempt) recordAttempt(this, this.ok ? 'success' : 'transient')
		if (this.stop === 'hook-threw') this.current = bound?.outer
		this.ok = false
		this.value = error
		this.stop = 'hook-threw'
	}

	/** Something went wrong on the way, so there is a record to end. */
	close(): void {
		const { pipeline, ok } = this
		pipeline.consecutiveSuccesses = 0
		if (ok && !this.rare?.keepsRecord) return
		try {
			if (!ok && (!this.stop || this.stop === 'inner-retry')) this.classify(pipeline)
		} catch (error) {
			this.hookThrew(error)
		}
		closeRecord(this)
	}

	/** The call that this one is part of, if it is known. */
	get parentCall(): Call | undefined {
		const around = Context.callOf(Context.of(this.options))
		return around instanceof Call ? around : undefined
	}
}
