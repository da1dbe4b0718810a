/** How the engine reports calls. `Call` is a parameter, because a call knows its pipeline. */
import type { CallOutcome, YaokiEvent } from '../events/events.ts'

/** All observers of a pipeline's calls, as the engine sees them. */
export interface PipelineObserver<Call> {
	/** Starts a call inside the functions that observers run around it; undefined without such functions. */
	readonly run: ((call: Call, start: (call: Call) => Promise<unknown>) => Promise<unknown>) | undefined
	onBegin(call: Call): void
	onWait(call: Call): void
	onResume(call: Call): void
	onEnd(call: Call): void
}

/** A subscription to `call` events, or a part of telemetry. Its functions must not throw. */
export interface CallObserver<Call> {
	around?(call: Call, next: () => Promise<unknown>): Promise<unknown>
	onBegin?(call: Call, times: CallTimes): void
	/** `times` is undefined if the call was rejected before it began, or began without observers. */
	onEnd(call: Call, times: CallTimes | undefined, outcome: CallOutcome): void
}

/** What is measured about an observed call, on the pipeline's clock. */
export interface CallTimes {
	readonly begunAt: number | undefined
	/** How often the operation was called, hedges included. */
	attempts: number
	/** The time in queues and for rate limits. */
	queuedMs: number
	/** The time in delays of retries. */
	backoffMs: number
	/** The current wait. */
	wait: { readonly since: number; readonly isBackoff: boolean } | undefined
	/** The `call` event, if a listener has received it. All listeners receive the same one. */
	event: YaokiEvent | undefined
}
