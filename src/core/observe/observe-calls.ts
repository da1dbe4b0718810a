/** Observes the calls of a pipeline. Nothing here runs, or is allocated, without an observer. */
import { safeGet } from '../classify/safe-get.ts'
import type { Call, CompiledPipeline } from '../engine/call.ts'
import { pipelineNameOf, UNNAMED } from '../errors/errors.ts'
import { createEvent } from '../events/create-event.ts'
import { errorFacts } from '../events/error-facts.ts'
import type { CallOutcome, PolicyListener, YaokiEvent } from '../events/events.ts'
import type { CallObserver, CallTimes, PipelineObserver } from './call-observer.ts'

/** Adds an observer to a pipeline. Returns a function that removes it. */
export function observeCalls(pipeline: CompiledPipeline, observer: CallObserver<Call>): () => void {
	const observers = (pipeline.observer ?? new CallObservers()) as CallObservers
	pipeline.observer = observers
	observers.set([...observers.list, observer])
	return () => {
		observers.set(observers.list.filter((other) => other !== observer))
		if (!observers.list.length && pipeline.observer === observers) pipeline.observer = undefined
	}
}

/** Returns an observer that passes the `call` event of every call to a listener, which must not throw. */
export const callEvents = (listener: PolicyListener): CallObserver<Call> => ({
	onEnd(call, times, outcome) {
		// A call that began before the subscription has no times.
		if (!times) return
		times.event ??= createCallEvent(call, times, outcome)
		listener(times.event)
	},
})

function createCallEvent(call: Call, times: CallTimes, outcome: CallOutcome): YaokiEvent {
	const { ok, value, stop, pipeline } = call
	const { begunAt, attempts, queuedMs, backoffMs } = times
	const { runtime, name: emitter } = pipeline
	const now = runtime.now()
	const source = { emitter, pipeline: pipelineNameOf(pipeline.pipeline, UNNAMED), key: undefined, runtime }
	return createEvent(call, source, {
		type: 'call',
		outcome,
		attempts,
		durationMs: now - (begunAt ?? now),
		queuedMs,
		backoffMs,
		stop: stop ?? (outcome === 'failure' ? 'not-retried' : outcome),
		...(ok ? {} : errorFacts(value)),
	})
}

/** The codes of rejections. A retry around the policy that rejected the call stops with `cancelled`. */
export const REJECTION: RegExp = /^YAOKI_(CIRCUIT_OPEN|BULKHEAD_REJECTED|RATE_LIMITED)$/

function outcomeOf({ ok, stop, rare, value }: Call): CallOutcome {
	if (ok) return rare?.isSubstituted ? 'fallback' : 'success'
	const isRejected =
		stop === 'rejected' || (stop === 'cancelled' && REJECTION.test(String(safeGet(value, 'code'))))
	// An attempt before a rejected retry has failed.
	return isRejected && !rare?.times?.attempts ? 'rejected' : 'failure'
}

class CallObservers implements PipelineObserver<Call> {
	list: readonly CallObserver<Call>[] = []
	run: PipelineObserver<Call>['run']

	set(list: readonly CallObserver<Call>[]): void {
		this.list = list
		this.run = list.some(({ around }) => around) ? (call, start) => this.#around(0, call, start) : undefined
	}

	onBegin(call: Call): void {
		const begunAt = call.startedAt
		const times: CallTimes = {
			begunAt,
			attempts: 0,
			queuedMs: 0,
			backoffMs: 0,
			wait: undefined,
			event: undefined,
		}
		// One object shape instead of two.
		if (call.rare) call.rare.times = times
		else call.rare = { times }
		for (const observer of this.list) observer.onBegin?.(call, times)
	}

	onWait(call: Call): void {
		const { rare, attempt, lastAttempt, pipeline } = call
		if (!rare?.times || rare.branch) return
		// A retry records the delay with the attempt that failed, before the next one begins.
		const isAfterFailure = lastAttempt?.attempt === attempt
		if (isAfterFailure && lastAttempt.delayMs === undefined) return
		rare.times.wait = { since: pipeline.runtime.now(), isBackoff: isAfterFailure }
	}

	onResume({ rare, pipeline }: Call): void {
		const { times } = rare ?? {}
		if (!times?.wait || rare?.branch) return
		const waitedMs = pipeline.runtime.now() - times.wait.since
		times[times.wait.isBackoff ? 'backoffMs' : 'queuedMs'] += waitedMs
		times.wait = undefined
	}

	onEnd(call: Call): void {
		const { rare } = call
		// The outcome of a branch is part of its call.
		if (rare?.branch) return
		const outcome = outcomeOf(call)
		for (const observer of this.list) observer.onEnd(call, rare?.times, outcome)
	}

	/** Runs the functions of the observers from `index` on. The first observer is the outermost. */
	#around(index: number, call: Call, start: (call: Call) => Promise<unknown>): Promise<unknown> {
		const observer = this.list[index]
		if (!observer) return start(call)
		const next = () => this.#around(index + 1, call, start)
		return observer.around ? observer.around(call, next) : next()
	}
}
