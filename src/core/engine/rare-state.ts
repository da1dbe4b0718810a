/**
 * What the engine remembers about few calls, in an object of its own that is created on first use. A policy or
 * a protocol that must remember more declares a `CallFact`, and the engine does not list it.
 */
import type { CallRecord, StopReason } from '../explain/record.ts'
import type { CallTimes } from '../observe/call-observer.ts'
import type { CallContext } from './call-options.ts'
import type { BoundLayerOf, Step } from './layer.ts'
import type { Scope } from './scope.ts'

/** What the record of a call needs beyond its attempts (call-record.ts). */
export interface RecordFacts {
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
	endedAt?: number
	/** What last interrupted the operation. */
	ending?: StopReason | undefined
}

/** A timeout or a hedge ends a part of a call (interrupt.ts). */
interface Interruption<Call> {
	/** The layer that ends the part inside it; undefined for the whole call. */
	readonly bound: BoundLayerOf<Call> | undefined
	readonly error: unknown
	readonly stop: StopReason
	unwind(call: Call): Step
}

/** An operation that is still running although its call no longer waits for it. */
export interface Orphan {
	/** The run of the call that started it. */
	readonly run: number
	/** Layers further out than this are affected: all of them, or for a branch those around the branch. */
	readonly index: number
	readonly onEnd: (() => void)[]
}

/** Where a call belongs that is a part of another one, as each further request of a hedged call is. */
interface Branch<Call> {
	readonly parent: Call
	/** The run of the parent in which the branch began, and the layer inside which it runs. */
	readonly run: number
	readonly index: number
	/** The scope around the branch. */
	scope: Scope
}

export interface RareStateOf<Call> extends RecordFacts {
	/** The part inside `bound`, or the whole call, must end, whatever the operation does. */
	interruption?: Interruption<Call> | undefined
	/** Operations that are still running without a call that waits for them. */
	orphans?: Orphan[]
	/** What runs instead of the operation. */
	substitute?: ((context: CallContext) => unknown) | undefined
	/** Undefined unless the call is a branch of another one. */
	branch?: Branch<Call>
	/** How the host of this call starts a branch; undefined for the production host. */
	startBranch?: (branch: Call, step: Step, ended: () => void) => void
	/** Measured for a listener. The branches of a hedge share the times of their call. */
	times?: CallTimes | undefined
	/** The facts that layers declare. */
	[fact: symbol]: unknown
}
