/** Listens to the calls of a pipeline in which something failed. Successes cost nothing: the engine calls nothing. */
import type { Call, CompiledPipeline } from '../../core/engine/call.ts'

/** Receives the call, and the number of successes before it. Must not throw. */
export type FailureListener = (call: Call, successes: number) => void

/** Kept at the pipeline, so that a second dashboard finds the listeners of the first. */
interface Dispatcher {
	(call: Call): void
	readonly listeners: Set<FailureListener>
}

/** Adds a listener. Returns a function that removes it. */
export function listenToFailures(pipeline: CompiledPipeline, listener: FailureListener): () => void {
	const dispatcher = (pipeline.report as Dispatcher | undefined) ?? createDispatcher()
	pipeline.report = dispatcher
	dispatcher.listeners.add(listener)
	return () => {
		dispatcher.listeners.delete(listener)
		if (dispatcher.listeners.size === 0) pipeline.report = undefined
	}
}

function createDispatcher(): Dispatcher {
	const listeners = new Set<FailureListener>()
	const dispatch = (call: Call) => {
		// A branch of a hedged call is a part of its call.
		if (call.rare?.branch) return
		for (const listener of listeners) listener(call, call.pipeline.consecutiveSuccesses)
	}
	return Object.assign(dispatch, { listeners })
}
