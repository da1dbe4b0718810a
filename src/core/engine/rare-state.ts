/** What few calls have, in an object beside the call that is made when the first of it is needed. */
import type { StopReason } from '../explain/record.ts'
import type { CallContext } from './call-options.ts'
import type { BoundLayerOf, Step } from './layer.ts'
import type { Scope, SignalLink } from './scope.ts'

/** Work that goes on although its call was told to do without it. */
export interface Orphan {
	/** The turn in which it was begun. */
	readonly run: number
	/** Layers further out than this are concerned: all, for a call's own work; of a branch's, those around the branch. */
	readonly index: number
	readonly onEnd: (() => void)[]
}

/** What is known of a call beyond its attempts. */
export interface RareFacts {
	/** Will somebody hold the result in a form by which `explain` can find the call again? An error always is one. */
	keepsRecord?: boolean
	/** Has something answered in the place of the work? */
	isSubstituted?: boolean
	/** Has a retry decided that this failure is final? */
	isFinalFailure?: boolean
	/** The latest failure that a retry further in gave up, and in which attempt that was. */
	innerFailure?: { readonly attempt: number | undefined; readonly error: unknown }
	/** Has a retry further in left it to the outermost one? */
	isDeferredToOuter?: boolean
	/** How long the coming attempt has waited in queues. */
	queuedMs?: number
	endedAt?: number
	/** What last cut the work off, if anything did. */
	ending?: StopReason
}

/** What few calls have. */
export interface RareStateOf<Call> extends RareFacts {
	/** Takes the result, where it is not chained to the work; a failure is a rejected promise. Set by the runner. */
	resolveResult?: (value: unknown) => void
	/** The part inside `bound`, or the whole call, is to end, whatever the work does. */
	interruption?: { readonly bound: BoundLayerOf<Call> | undefined; unwind(): Step } | undefined
	/** Work that goes on unheard. */
	orphans?: Orphan[]
	/** What the layers further in than the fourth remember. */
	states?: unknown[]
	/** What is done in place of the work. */
	substitute?: ((context: CallContext) => unknown) | undefined
	/** Which budgets know of this call. */
	deposits?: unknown[]
	/** The signal of the whole call. */
	link?: SignalLink
	/** The call that this one is a branch of, and the scope around it there. */
	branchOf?: Call
	/** In which turn of that call, and inside of which layer. */
	branchRun?: number
	branchIndex?: number
	/** How its runner starts a branch; undefined for the runner of production. */
	branch?: (branch: Call, step: Step, ended: () => void) => void
	parentScope?: Scope
}
