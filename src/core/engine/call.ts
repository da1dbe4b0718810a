/**
 * One call on its way through the layers of a pipeline: a state machine without promises and timers. A host
 * drives it: it runs the operation on the step `run`, waits on `wait` and `park`, and reports the result back.
 * Production uses a host with promises (runner.ts), virtual time one with callbacks (callback-driver.ts). Both
 * drive this same machine, so what is simulated is what runs.
 *
 * The layers form a chain, outermost first. A call enters them in turn. On the way out each layer that it
 * entered receives the outcome, innermost first, and may ask for the part inside it to run again. Rejected
 * alternative: functions around functions, which cost one async function per layer.
 */
import type { Classification } from '../classify/classification.ts'
import { InvalidArgumentError } from '../errors/errors.ts'
import type { AttemptEntry, CallRecord, StopReason } from '../explain/record.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { type CallContext, type CallOptions, checkSignals } from './call-options.ts'
import { classifyFailure, closeRecord, isInnerFailure, recordAttempt } from './call-record.ts'
import { Context } from './context.ts'
import type { BoundLayerOf, CompiledPipelineOf, LayerEnv, LayerOf, Step } from './layer.ts'
import type { RareStateOf } from './rare-state.ts'
import { type Scope, type SignalLink, scopeSignal } from './scope.ts'

export type RareState = RareStateOf<Call>
export type Layer = LayerOf<Call>
export type BoundLayer<L = Layer> = BoundLayerOf<Call, L>
export type CompiledPipeline = CompiledPipelineOf<Call>

/** The operation of a call. The second parameter is the callback of a host without promises. */
export type Operation = (context: CallContext, done: never) => unknown

export class Call implements CallRecord, Scope {
	readonly pipeline: CompiledPipeline
	readonly options: CallOptions | undefined
	/** Undefined if the call is rejected because its options are invalid. */
	operation: Operation | undefined
	/** Counted from 0. */
	attempt = 0
	/** When the current attempt began, on the pipeline's clock; undefined if the clock was not read. */
	startedAt: number | undefined
	/** The outcome so far: `value` is the result or, if not `ok`, the error. It is set from the start if the call's options are invalid. */
	ok = false
	value: unknown
	/** Why no further attempt is made, once that is decided. */
	stop: StopReason | undefined
	/** The last recorded attempt, which links to the one before. Undefined while nothing has failed. */
	lastAttempt: AttemptEntry | undefined
	/** The innermost layer that the call has entered. */
	current: BoundLayer | undefined
	/** The innermost part that can be aborted separately. */
	scope: Scope = this
	/** The signal of the whole call, once it was read. */
	link: SignalLink | undefined
	/** What the layers remember about this call, by their position. Undefined while no layer remembers anything. */
	states: unknown[] | undefined
	/** How long the next attempt has waited in queues; undefined if the call has not waited in one. */
	queuedMs: number | undefined
	/** How long a step `wait` takes. */
	waitMs = 0
	/** Ends the current wait or, after an interruption, the wait for the operation. Set by the runner. */
	wake: (() => void) | undefined
	/** Counts starts, ends and interruptions of the operation: the result of an earlier run is ignored. */
	run = 0
	/** `running`: the operation runs and may outlive its call. `over`: the call has settled. */
	phase: 'idle' | 'running' | 'over' = 'idle'
	rare: RareState | undefined

	constructor(
		pipeline: CompiledPipeline,
		options: CallOptions | undefined,
		operation: Operation | undefined,
	) {
		this.pipeline = pipeline
		this.options = options
		this.operation = operation
	}

	begin(): Step {
		const { pipeline, operation } = this
		if (this.needsTimes) this.startedAt = pipeline.runtime.now()
		// Rejected before any layer is entered: there is nothing to count, to retry or to replace.
		if (typeof operation !== 'function')
			return this.reject(this.value ?? new InvalidArgumentError('fn', operation, 'a function'), 'hook-threw')
		pipeline.observer?.onBegin(this)
		return this.runEnter()
	}

	/** Returns the context of the attempt that starts now. */
	context(): CallContext {
		countAttempt(this)
		return new Context(this, this.scope, this.attempt)
	}

	get abortsItself(): boolean {
		return !!this.rare?.branch
	}

	/** After the call has settled no signal is linked anymore, because nothing would unlink it. */
	abortedBy(): CallOptions | undefined {
		const { options, rare } = this
		if (rare?.branch) return { signal: scopeSignal(rare.branch.scope) }
		return this.isOver ? { signal: options?.signal } : options
	}

	get isAborted(): boolean {
		return !!this.options?.signal?.aborted
	}

	get isOver(): boolean {
		return this.phase === 'over'
	}

	/** What cancelled the call from outside, if anything did. */
	get cancelledBy(): 'deadline' | 'abort' | undefined {
		if (this.options?.deadline?.isExpired) return 'deadline'
		return this.isAborted ? 'abort' : undefined
	}

	/** False if the call starts without reading the clock. */
	get needsTimes(): boolean {
		const { options, pipeline } = this
		return !!(
			options ||
			pipeline.observer ||
			pipeline.consecutiveSuccesses < pipeline.unmeasuredAfter ||
			this.rare?.keepsRecord
		)
	}

	/** Returns the time, read once for all layers that are entered in a row. */
	now(runtime: Runtime): number {
		if (runtime !== this.pipeline.runtime) return runtime.now()
		this.startedAt ??= runtime.now()
		return this.startedAt
	}

	/** State that few calls need, created on first use. */
	get rareState(): RareState {
		this.rare ??= {}
		return this.rare
	}

	/** Enters a layer: it will receive the outcome of the part inside it. `state` is kept for it until then. */
	enterLayer<L extends Layer>(bound: BoundLayer<L>, state?: L['callState']): Step {
		this.current = bound
		if (state !== undefined || this.states) {
			// Room for the usual number of layers: growing the list would cost more.
			this.states ??= new Array(4)
			this.states[bound.index] = state
		}
		return 'continue'
	}

	/** Returns the state that a layer stored. */
	layerState<L extends Layer>({ index }: BoundLayer<L>): L['callState'] {
		return this.states?.[index]
	}

	/** A wait is over, or the caller's abort or an interruption ended it. */
	resume(): Step {
		this.pipeline.observer?.onResume(this)
		return this.rare?.interruption?.unwind(this) ?? this.runEnter(this.current)
	}

	/** Returns the step that waits for this time. */
	wait(ms: number): Step {
		this.waitMs = ms
		return 'wait'
	}

	/** A retry runs the part inside it again. */
	nextAttempt(): Step {
		this.attempt++
		this.startedAt = this.pipeline.runtime.now()
		return 'continue'
	}

	/** The operation has settled. */
	settle(ok: boolean, value: unknown): Step {
		this.ok = ok
		this.value = value
		if (ok) {
			if (this.lastAttempt && this.rare?.keepsRecord && !this.rare.substitute) recordAttempt(this, 'success')
		} else if (isInnerFailure(this)) this.stop ??= 'inner-retry'
		return this.runLeave()
	}

	/** A layer rejects the call. */
	reject(error: unknown, stop: StopReason = 'rejected', until?: BoundLayer): Step {
		this.ok = false
		this.value = error
		this.stop = stop
		return this.runLeave(until)
	}

	/** Classifies the current failure for a layer. A user's hook may throw here. */
	classify({ classify }: LayerEnv): Classification {
		return classifyFailure(this, classify)
	}

	/** Enters the layers inward to the operation, from the start or from the layer whose wait has ended. */
	runEnter(resumed?: BoundLayer): Step {
		const { options } = this
		try {
			if (options) checkSignals(options)
			const step = resumed?.layer.resume?.(this, resumed) ?? 'continue'
			if (step !== 'continue') return step
			options?.deadline?.throwIfExpired()
			return this.enterFrom(resumed ? resumed.next : this.pipeline.first)
		} catch (error) {
			return this.reject(error, this.cancelledBy ?? 'hook-threw')
		}
	}

	/** Enters the layers from this one inward to the operation. */
	enterFrom(first: BoundLayer | undefined): Step {
		for (let bound = first; bound; bound = bound.next) {
			const step = bound.layer.enter(this, bound)
			if (step !== 'continue') return step
		}
		return 'run'
	}

	/** Passes the outcome to the layers from here out to `until`, unless one of them runs its inner part again. */
	runLeave(until?: BoundLayer): Step {
		for (let bound = this.current; bound && bound !== until; bound = this.current) {
			try {
				const step = bound.layer.leave(this, bound)
				if (step !== 'continue' && !this.rare?.interruption) return step
				this.current = bound.outer
			} catch (error) {
				this.hookThrew(error, bound)
			}
		}
		if (until) return 'continue'
		this.link?.unlink?.()
		this.end()
		return 'done'
	}

	/** If something failed in the call, its record is closed. */
	end(): void {
		const { pipeline } = this
		if (this.ok && !this.lastAttempt) pipeline.consecutiveSuccesses++
		else {
			closeRecord(this)
			pipeline.report?.(this)
			pipeline.consecutiveSuccesses = 0
		}
		this.phase = 'over'
		pipeline.observer?.onEnd(this)
	}

	/**
	 * A hook threw. Its layer receives this error as the outcome; if it throws again, the call continues
	 * without that layer.
	 */
	hookThrew(error: unknown, bound?: BoundLayer): void {
		if (this.lastAttempt?.attempt !== this.attempt) recordAttempt(this, this.ok ? 'success' : 'transient')
		if (this.stop === 'hook-threw') this.current = bound?.outer
		this.ok = false
		this.value = error
		this.stop = 'hook-threw'
	}

	/** The call whose operation makes this call, if it is known. */
	get parentCall(): Call | undefined {
		const parent = Context.callOf(this.options)
		return parent instanceof Call ? parent : undefined
	}
}

/** Counts the attempt that starts now. */
export function countAttempt({ rare }: Call): void {
	if (rare?.times && !rare.substitute) rare.times.attempts++
}
