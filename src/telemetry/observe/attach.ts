/**
 * Attaches an observer to what it observes: the part of observation that programs without telemetry do not load.
 */
import { safeGet } from '../../core/classify/safe-get.ts'
import type { BoundLayer, Call, Operation } from '../../core/engine/call.ts'
import type { CallContext } from '../../core/engine/call-options.ts'
import { Context } from '../../core/engine/context.ts'
import type { CallOutcome, CallProbe, CallTimes } from '../../core/engine/layer.ts'
import { observeCalls, probeCalls, REJECTION } from '../../core/events/call-event.ts'
import { combineEnds } from '../../core/observe/combine-ends.ts'
import type { Observation, ObservedPipeline } from '../../core/observe/observe.ts'
import type {
	Around,
	AttemptInfo,
	CallEnd,
	CallInfo,
	CallState,
	Observer,
} from '../../core/observe/observer.ts'

/** Attaches an observer. Returns a function that detaches it. */
export function attachObserver({ pipelines, emitter }: Observation, observer: Observer): () => void {
	const ends: (() => void)[] = []
	if (pipelines) ends.push(pipelines((pipeline) => attachToPipeline(pipeline, observer)))
	if (emitter) {
		const { onEvent, around } = observer
		if (onEvent) ends.push(emitter.subscribe((event) => onEvent(event)))
		if (around) ends.push(emitter.addAround(around))
	}
	return combineEnds(ends)
}

function attachToPipeline({ compiled, listen }: ObservedPipeline, observer: Observer): () => void {
	const { onEvent, isComplete = false } = observer
	const probe = new ObserverProbe(observer)
	const ends = [probeCalls(compiled, probe), () => probe.detach()]
	if (onEvent) {
		ends.push(listen(onEvent, { skipsRoutine: !isComplete, onlyPipeline: compiled }))
		if (isComplete) ends.push(observeCalls(compiled, onEvent))
	}
	return combineEnds(ends)
}

class ObserverProbe implements CallProbe<Call> {
	readonly around?: NonNullable<CallProbe<Call>['around']>
	readonly onBegin?: NonNullable<CallProbe<Call>['onBegin']>
	readonly #onCallEnd: Observer['onCallEnd']
	readonly #wantsCallEnd: Observer['wantsCallEnd']
	#isAttached = true

	constructor(observer: Observer) {
		const { around, onCallEnd } = observer
		this.#onCallEnd = onCallEnd
		this.#wantsCallEnd = observer.wantsCallEnd
		if (!around) return
		this.around = (call, next) => around(infoOf(call), next) as Promise<unknown>
		this.onBegin = (call, times) => {
			if (observer.wantsAttempts?.(infoOf(call)) !== false) this.#wrapAttempts(call, times, around)
		}
	}

	onEnd(call: Call, times: CallTimes | undefined, outcome: CallOutcome): void {
		const onCallEnd = this.#onCallEnd
		const { rare, pipeline, options } = call
		// A call that began before the observer was attached is unknown to it.
		if (!onCallEnd || !(times || rare?.info)) return
		const wantsCallEnd = this.#wantsCallEnd
		// Without an SDK, a clock read and an object less.
		if (wantsCallEnd && !wantsCallEnd(rare?.info as CallInfo | undefined)) return
		const now = pipeline.runtime.now()
		const end: CallEnd = {
			type: 'call',
			emitter: pipeline.name,
			key: options?.key,
			call: options?.name,
			method: options?.extension?.method,
			outcome,
			attempts: times ? times.attempts : 0,
			retries: call.attempt,
			durationMs: now - (times?.begunAt ?? now),
			queuedMs: times ? times.queuedMs : 0,
			backoffMs: times ? times.backoffMs : 0,
			error: call.ok ? undefined : errorOf(call),
			info: rare?.info as CallInfo | undefined,
		}
		onCallEnd(end)
	}

	/** Later attempts of calls in flight run without `around`. */
	detach(): void {
		this.#isAttached = false
	}

	/** Runs every attempt of the call, hedges included, inside of `around`. */
	#wrapAttempts(call: Call, times: CallTimes, around: Around): void {
		const operation = call.operation as (context: CallContext, done: unknown) => unknown
		const wrapped = (context: CallContext, done: unknown) => {
			if (!this.#isAttached) return operation(context, done)
			const info: AttemptInfo = {
				type: 'attempt',
				call: infoOf(call),
				attempt: context.attempt + 1,
				// This attempt is counted already.
				resendCount: times.attempts - 1,
				hedge: hedgeOf(context),
				extension: call.options?.extension,
			}
			return around(info, () => toPromise(operation(context, done)))
		}
		call.operation = wrapped as Operation
	}
}

/** A rejection after a failed attempt says nothing about the dependency, the first error does. */
function errorOf(call: Call): unknown {
	let first = call.value
	if (call.stop !== 'rejected' && !REJECTION.test(String(safeGet(first, 'code')))) return first
	for (let entry = call.lastAttempt; entry; entry = entry.previous) first = entry.error ?? first
	return first
}

/** Returns the number of the hedge that runs with this context; 0 if it is none. */
function hedgeOf(context: CallContext): number {
	const call = Context.callOf(Context.of(context)) as Call | undefined
	const index = call?.rare?.branchIndex
	if (!call || index === undefined) return 0
	const { number } = call.layerState({ index } as BoundLayer) as { readonly number: number }
	return number
}

/** A foreign thenable or a subclass of Promise may start its work with each subscription, and both the observer and the engine subscribe. */
const toPromise = (result: unknown): unknown => {
	const { then } = (result ?? {}) as { then?: unknown }
	const isPlain = typeof then !== 'function' || (result instanceof Promise && then === Promise.prototype.then)
	return isPlain ? result : Promise.resolve(result)
}

function infoOf(call: Call): CallInfo {
	const { rareState } = call
	rareState.info ??= new Info(call)
	return rareState.info as CallInfo
}

/** Also the state: most calls have one observer that stores something, and a Map costs as much as the rest. */
class Info implements CallInfo, CallState {
	readonly type = 'call'
	readonly #call: Call
	#owner: object | undefined
	#value: unknown
	#others: Map<object, unknown> | undefined

	constructor(call: Call) {
		this.#call = call
	}

	get id(): string | undefined {
		return this.#call.rare?.callId
	}

	get emitter(): string {
		return this.#call.pipeline.name
	}

	get key(): string | undefined {
		return this.#call.options?.key
	}

	get call(): string | undefined {
		return this.#call.options?.name
	}

	get method(): string | undefined {
		return this.#call.options?.extension?.method
	}

	get state(): CallState {
		return this
	}

	get(owner: object): unknown {
		return owner === this.#owner ? this.#value : this.#others?.get(owner)
	}

	set(owner: object, value: unknown): void {
		this.#owner ??= owner
		if (owner === this.#owner) this.#value = value
		else {
			this.#others ??= new Map()
			this.#others.set(owner, value)
		}
	}
}
