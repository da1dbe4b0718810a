/**
 * What a policy is to the engine: two synchronous halves around the operation. `enter` admits the call,
 * rejects it, or returns a wait; `leave` receives the outcome. Neither knows promises or timers. `Call` is a
 * type parameter here because a call knows its layers, and one of the two files must come first.
 */
import type { Classification } from '../classify/classification.ts'
import type { PipelineObserver } from '../observe/call-observer.ts'
import type { Hook } from '../options/hooks.ts'
import type { Runtime } from '../runtime/runtime.ts'

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
	/**
	 * Receives the outcome of a call that entered. `continue` passes it outward. Any other step runs the inner
	 * part again. Called once for each outcome, and again only if it throws. The operation may still be running
	 * then (`rare.orphans`).
	 */
	leave(call: Call, bound: BoundLayerOf<Call>): Step
}

/** How attempts and waits of a call begin and end in production. */
export interface PromiseRunner<Call> {
	/** Runs the first attempt and all that follows. Returns the result of the call. */
	start(call: Call): Promise<unknown>
	/** Runs a later attempt. The promise resolves with the step after it. */
	attempt(call: Call): Promise<Step>
	/** A `wait` or `park` has begun: a layer that sees nothing to wait for can end it. */
	onWait(call: Call): void
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
	/**
	 * Receives every call in which something failed, when its record is closed and before `consecutiveSuccesses`
	 * is reset. Unlike an observer it costs nothing per success. It must not throw.
	 */
	report?: Hook<[call: Call], void> | undefined
}
