/**
 * What a policy is to the engine: two synchronous halves around the operation. `enter` admits the call,
 * rejects it, or returns a wait; `leave` receives the outcome. Neither knows promises or timers. `Call` is a
 * type parameter here because a call knows its layers, and one of the two files must come first.
 */
import type { Classification } from '../classify/classification.ts'
import type { CallRecord, StopReason } from '../explain/record.ts'
import type { CallTimes, PipelineObserver } from '../observe/call-observer.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { CallContext } from './call-options.ts'
import type { Scope, SignalLink } from './scope.ts'

/**
 * What happens next to a call. A layer returns a step to the engine, and the engine returns a step to its
 * host.
 *
 * - `continue`: goes on to the next layer, inward on the way in and outward on the way out. A host never
 *   receives it.
 * - `run`: runs the operation or, if there is one, its substitute. The outcome goes to the innermost layer
 *   that the call has entered.
 * - `wait`: waits for `call.waitMs`, then resumes the layer that asked for it.
 * - `park`: waits until `call.wake()` is called, then resumes the layer that asked for it.
 * - `rejected`: the outermost layer rejected the call, and the host creates the error (rejection.ts).
 * - `done`: the call has settled.
 *
 * Strings that are written in the source are compared by address, so a step costs no allocation.
 */
export type Step = 'continue' | 'run' | 'wait' | 'park' | 'rejected' | 'done'

/** What a layer inherits from its pipeline, unless its policy has its own. */
export interface LayerEnv {
	readonly runtime: Runtime
	readonly classify: (error: unknown) => Classification
	/** The name of the pipeline, if it has one. */
	readonly pipeline?: string | undefined
	/** The option of the pipeline. */
	readonly exactTimes?: boolean | undefined
}

/** A layer at its position in a pipeline. */
export interface BoundLayerOf<Call, L = LayerOf<Call>> extends LayerEnv {
	readonly layer: L
	/** Counted from 0, outermost first. */
	readonly index: number
	/** The next layer outward. */
	readonly outer: BoundLayerOf<Call> | undefined
	/** The next layer inward; undefined at the operation. */
	readonly next: BoundLayerOf<Call> | undefined
}

/**
 * Both halves of a policy. A layer stores what it must remember about a call in the call itself, so that a
 * layer without state allocates nothing. (Measured alternative: one object per layer and call; four of them
 * cost 1.5 bare awaits.)
 */
export interface LayerOf<Call> {
	/** Never set: the type of what this layer remembers about a call (`call.enterLayer`, `call.layerState`). */
	readonly callState?: unknown
	/** How production runs calls through this layer, if it may settle a call while the operation is still running. */
	readonly runner?: PromiseRunner<Call>
	/** Admits the call (`call.enterLayer`), rejects it (`call.reject`) or returns a wait. */
	enter(call: Call, bound: BoundLayerOf<Call>): Step
	/** The operation did not settle synchronously, or a wait begins. Called every time that happens. */
	onPending?(call: Call, bound: BoundLayerOf<Call>): void
	/** The wait that this layer returned is over. */
	resume?(call: Call, bound: BoundLayerOf<Call>): Step
	/** Receives the outcome of a call that entered. `continue` passes it outward. Any other step runs the inner part again. */
	leave(call: Call, bound: BoundLayerOf<Call>): Step
}

/** How attempts and waits of a call begin and end in production. */
export interface PromiseRunner<Call> {
	/** Runs the first attempt and all that follows. Returns the result of the call. */
	start(call: Call): Promise<unknown>
	/** Runs a later attempt. The promise resolves with the step after it. */
	attempt(call: Call): Promise<Step>
	/** Returns a promise that resolves when a `wait` or `park` is over. */
	wait(call: Call, step: Step): Promise<void>
	/** Continues the call after the wait. */
	resume(call: Call): Step
}

/** A pipeline, compiled once and shared by all its calls. */
export interface CompiledPipelineOf<Call> extends LayerEnv {
	readonly name: string
	readonly first: BoundLayerOf<Call> | undefined
	/** The runner of its calls, if any layer may settle a call while the operation is still running. */
	readonly runner: PromiseRunner<Call> | undefined
	/** The number of successful calls since the last failure. */
	consecutiveSuccesses: number
	/** After this many of them a plain call is not measured. */
	readonly unmeasuredAfter: number
	/** Undefined while no observer needs the ends of calls, so that they then cost one comparison. */
	observer: PipelineObserver<Call> | undefined
}

/** An operation that is still running although its call no longer waits for it. */
export interface Orphan {
	/** The run of the call that started it. */
	readonly run: number
	/** Layers further out than this are affected: all of them, or for a branch those around the branch. */
	readonly index: number
	readonly onEnd: (() => void)[]
}

/** Facts about a call beyond its attempts, which most calls do not have. */
export interface RareFacts {
	/** Identifies the call in events. Created when the first event is emitted. */
	callId?: string
	/** True if the caller holds the result in a form by which `explain` finds the call. Errors always are one. */
	keepsRecord?: boolean
	/** What the user can do about the stop, for `explain`. */
	hint?: string
	/** True if something else provided the result instead of the operation. */
	isSubstituted?: boolean
	/** The number of the start of the retry that decided that this failure is final. */
	finalSince?: number
	/** The call inside this one that ended with the same failure after its retries were exhausted. */
	inner?: CallRecord
	/** The last failure of an inner call that a retry in it decided not to retry, and the attempt in which that was. */
	innerFailure?: {
		readonly attempt: number | undefined
		readonly error: unknown
		readonly stop: StopReason | undefined
		/** True if the operation has received it as a result, such as a response: an error of its own then stands for it. */
		isResult?: boolean
	}
	/** True if an inner retry left retrying to the outermost one. */
	isDeferredToOuter?: boolean
	/**
	 * What a breaker counts in place of this failure: a success if the service that was called works, nothing
	 * if the failure does not concern it.
	 */
	circuitOutcome?: 'success' | 'nothing' | undefined
	/**
	 * How many retries count so far, if not all do. -1 if the service still works on an earlier attempt: the
	 * next one only asks for its result and does not count.
	 */
	countedRetries?: number
	endedAt?: number
	/** What last interrupted the operation. */
	ending?: StopReason | undefined
	/** Measured for a listener. The branches of a hedge share those of their call. */
	times?: CallTimes | undefined
	/** What the functions around the call have received about it. */
	info?: object
}

/** A timeout or a hedge ends a part of a call. */
interface Interruption<Call> {
	/** The layer that ends the part inside it; undefined for the whole call. */
	readonly bound: BoundLayerOf<Call> | undefined
	readonly error: unknown
	readonly stop: StopReason
	unwind(call: Call): Step
}

/** State that few calls need, in an object of its own that is created on first use. */
export interface RareStateOf<Call> extends RareFacts {
	/** The part inside `bound`, or the whole call, must end, whatever the operation does. */
	interruption?: Interruption<Call> | undefined
	/** Operations that are still running without a call that waits for them. */
	orphans?: Orphan[]
	/** What runs instead of the operation. */
	substitute?: ((context: CallContext) => unknown) | undefined
	/** The budgets that have recorded this call. */
	deposits?: unknown[]
	/** The signal of the whole call. */
	link?: SignalLink
	/** The call that this one is a branch of (a hedge). */
	branchOf?: Call
	/** The run of that call, and the layer inside which the branch runs. */
	branchRun?: number
	branchIndex?: number
	/** How its runner starts a branch; undefined for the production runner. */
	branch?: (branch: Call, step: Step, ended: () => void) => void
	/** The scope around a branch. */
	parentScope?: Scope
}
