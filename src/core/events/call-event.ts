/** Creates events, and the `call` event of every finished call. Nothing here runs, or is allocated, without a listener. */

import { safeGet } from '../classify/safe-get.ts'
import type { Call, CompiledPipeline } from '../engine/call.ts'
import type { CallOptions } from '../engine/call-options.ts'
import type { CallObserver, CallOutcome, CallProbe, CallTimes } from '../engine/layer.ts'
import { pipelineNameOf, UNNAMED } from '../errors/errors.ts'
import { randomUuid } from '../runtime/random-uuid.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { errorFacts } from './error-facts.ts'
import type { EventDetails, PolicyListener, YaokiEvent } from './events.ts'

/** Where an event comes from. */
interface EventSource {
	readonly emitter: string
	/** The name of the pipeline, if it has one. */
	readonly pipeline: string | undefined
	/** The key that the policy serves, if it serves one. */
	readonly key: string | undefined
	readonly runtime: Runtime
}

/** Returns the event with the fields that all events share. */
export function createEvent(call: Call | undefined, source: EventSource, details: EventDetails): YaokiEvent {
	const { emitter, pipeline, key, runtime } = source
	return {
		...(call && { callId: callId(call), attempt: call.attempt + 1 }),
		...details,
		emitter,
		timestamp: runtime.wallNow(),
		...(pipeline === undefined ? {} : { pipeline }),
		...callFacts(call?.options, key),
	}
}

/** Returns the fields of an event that come from the call's options. */
function callFacts(
	options: CallOptions | undefined,
	policyKey: string | undefined,
): { key?: string; call?: string; method?: string } {
	const key = policyKey || options?.key
	const { name, extension: { method, eventFields } = {} } = options ?? {}
	return {
		...eventFields,
		...(key === undefined ? {} : { key }),
		...(name === undefined ? {} : { call: name }),
		...(method === undefined ? {} : { method }),
	}
}

/** Returns the id of the call; branches of a hedge share that of their call. */
function callId(call: Call): string {
	let whole = call
	for (let outer = call.rare?.branchOf; outer; outer = outer.rare?.branchOf) whole = outer
	const { rareState, pipeline } = whole
	rareState.callId ??= pipeline.runtime.createId?.() ?? randomUuid()
	return rareState.callId
}

/** Calls the listener, which must not throw, with the `call` event of every call. Returns a function that ends it. */
export const observeCalls = (pipeline: CompiledPipeline, listener: PolicyListener): (() => void) =>
	addObserver(pipeline, 'listeners', listener)

/** Adds a probe, which must not throw. Returns a function that removes it. */
export const probeCalls = (pipeline: CompiledPipeline, probe: CallProbe<Call>): (() => void) =>
	addObserver(pipeline, 'probes', probe, (observer) => {
		observer.run = observer.probes.some(({ around }) => around) ? runAround : undefined
	})

/** `onChange` is called when the observer has been added and removed. */
function addObserver(
	pipeline: CompiledPipeline,
	list: 'listeners' | 'probes',
	added: unknown,
	onChange?: (observer: CallObserver<Call>) => void,
): () => void {
	pipeline.observer ??= new CallEvents()
	const { observer } = pipeline
	const set = (next: readonly unknown[]) => {
		observer[list] = next as never
		onChange?.(observer)
	}
	set([...observer[list], added])
	return () => {
		set((observer[list] as unknown[]).filter((other) => other !== added))
		if (!observer.listeners.length && !observer.probes.length && pipeline.observer === observer)
			pipeline.observer = undefined
	}
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

class CallEvents implements CallObserver<Call> {
	listeners: readonly PolicyListener[] = []
	probes: readonly CallProbe<Call>[] = []
	run: CallObserver<Call>['run']

	onBegin(call: Call): void {
		const times: CallTimes = {
			begunAt: call.startedAt,
			attempts: 0,
			queuedMs: 0,
			backoffMs: 0,
			wait: undefined,
		}
		// One object shape instead of two.
		if (call.rare) call.rare.times = times
		else call.rare = { times }
		for (const probe of this.probes) probe.onBegin?.(call, times)
	}

	onWait(call: Call): void {
		const { rare, attempt, lastAttempt, pipeline } = call
		if (!rare?.times || rare.branchOf) return
		// A retry records the delay with the attempt that failed, before the next one begins.
		const isAfterFailure = lastAttempt?.attempt === attempt
		if (isAfterFailure && lastAttempt.delayMs === undefined) return
		rare.times.wait = { since: pipeline.runtime.now(), isBackoff: isAfterFailure }
	}

	onResume({ rare, pipeline }: Call): void {
		const { times } = rare ?? {}
		if (!times?.wait || rare?.branchOf) return
		const waitedMs = pipeline.runtime.now() - times.wait.since
		times[times.wait.isBackoff ? 'backoffMs' : 'queuedMs'] += waitedMs
		times.wait = undefined
	}

	onEnd(call: Call): void {
		const { ok, value, stop, rare, pipeline } = call
		// The outcome of a branch is part of its call.
		if (rare?.branchOf) return
		const outcome = outcomeOf(call)
		for (const probe of this.probes) probe.onEnd(call, rare?.times, outcome)
		// A call that began before the subscription has no times.
		if (!rare?.times || !this.listeners.length) return
		const { begunAt, attempts, queuedMs, backoffMs } = rare.times
		const { runtime, name: emitter } = pipeline
		const now = runtime.now()
		const facts = ok ? {} : errorFacts(value)
		const source = { emitter, pipeline: pipelineNameOf(pipeline.pipeline, UNNAMED), key: undefined, runtime }
		const event = createEvent(call, source, {
			type: 'call',
			outcome,
			attempts,
			durationMs: now - (begunAt ?? now),
			queuedMs,
			backoffMs,
			stop: stop ?? (outcome === 'failure' ? 'not-retried' : outcome),
			...facts,
		})
		for (const listener of this.listeners) listener(event)
	}
}

/** The first probe is the outermost. */
function runAround(call: Call, start: (call: Call) => Promise<unknown>): Promise<unknown> {
	const { probes = [] } = call.pipeline.observer ?? {}
	const [first] = probes
	if (first?.around && probes.length === 1) return first.around(call, () => start(call))
	const enter = (index: number): Promise<unknown> => {
		const probe = probes[index]
		if (!probe) return start(call)
		return probe.around ? probe.around(call, () => enter(index + 1)) : enter(index + 1)
	}
	return enter(0)
}
