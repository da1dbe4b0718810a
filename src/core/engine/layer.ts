/**
 * What a policy is to the engine: two synchronous halves around the work. `enter` admits, refuses or says what to wait
 * for; `leave` is told the outcome. Neither knows of promises or timers. `Call` is a parameter here, for a call knows its
 * layers and its plan, and one of the two must come first.
 */
import type { Classification } from '../classify/classification.ts'
import type { Runtime } from '../runtime/runtime.ts'

/** What comes next: one of those below or, from 0 up, a wait in milliseconds. A number, for it costs nothing. */
export type Step = number
/** Go on: further in, to the work; or further out, to the answer. */
export const GO = -1
/** The call is settled. */
export const DONE = -2
/** Wait for as long as it takes: somebody will call `call.wake()`. */
export const PARK = -3
/** On the way out: do `call.aside.instead`, and tell its outcome to the same layer. */
export const SUBSTITUTE = -4

/** The call was refused by its outermost layer, and `call.value` makes the error. */
export const REJECTED = -5

/** What surrounds a layer: handed to it by its pipeline, unless it was given its own. */
export interface LayerEnv {
	readonly runtime: Runtime
	readonly classify: (error: unknown) => Classification
}

/** A layer in its place. */
export interface BoundLayerOf<Call, L = LayerOf<Call>> extends LayerEnv {
	readonly layer: L
	/** Counted from 0, outermost. What a call keeps for this layer it keeps under this number. */
	readonly index: number
	/** The next layer outwards. */
	readonly outer: BoundLayerOf<Call> | undefined
	/** The next layer inwards; undefined at the work. */
	readonly next: BoundLayerOf<Call> | undefined
}

/**
 * Both halves of a policy. What a layer has to remember of a call it puts into the call, so that one which has nothing
 * to remember makes no object. (An object for each visit was measured, too: four of them are a bare await and a half.)
 */
export interface LayerOf<Call> {
	/** For one that may answer while the work is still going on: how such calls are run in production. */
	readonly runner?: Runner<Call>
	/** Admits (`call.visit`), refuses (`call.refuse`) or says how long to wait. */
	enter(call: Call, bound: BoundLayerOf<Call>): Step
	/** The work inside has not answered at once, or a wait begins. Told as often as that happens. */
	onPending?(call: Call, bound: BoundLayerOf<Call>): void
	/** The wait that this layer asked for is over. */
	resume?(call: Call, bound: BoundLayerOf<Call>): Step
	/** Told the outcome of a call that visits: `GO` lets it pass, a number runs the inner part again after that wait. */
	leave(call: Call, bound: BoundLayerOf<Call>): Step
}

type Runner<Call> = (call: Call, step: Step) => Promise<unknown>

/** A policy made ready to run: its layers, and what belongs to the whole. */
export interface CompiledPipelineOf<Call> extends LayerEnv {
	readonly name: string
	readonly first: BoundLayerOf<Call> | undefined
	/** How its calls are run, if any layer may answer while the work is still going on. */
	readonly runner: Runner<Call> | undefined
	/** How many calls have succeeded since the latest failure. */
	consecutiveSuccesses: number
}
