/**
 * Attaches an observer to what it observes: the part of observation that programs without telemetry do not
 * load.
 */
import { safeGet } from '../../core/classify/safe-get.ts'
import type { BoundLayer, Call, Operation } from '../../core/engine/call.ts'
import type { CallContext } from '../../core/engine/call-options.ts'
import { Context } from '../../core/engine/context.ts'
import { callIds } from '../../core/events/create-event.ts'
import type { CallOutcome } from '../../core/events/events.ts'
import type { CallObserver, CallTimes } from '../../core/observe/call-observer.ts'
import type { Observation, ObservedPipeline } from '../../core/observe/observation.ts'
import { observeCalls, REJECTION } from '../../core/observe/observe-calls.ts'
import type {
	Around,
	AttemptInfo,
	CallEnd,
	CallInfo,
	CallState,
	Observer,
} from '../../core/observe/observer.ts'
import { combineEnds, subscribeTo } from '../../core/observe/subscribe.ts'
import { CallFact } from '../../core/structures/call-fact.ts'

/** Attaches an observer. Returns a function that detaches it. */
export function attachObserver({ calls, events }: Observation, observer: Observer): () => void {
	const ends: (() => void)[] = []
	if (calls) ends.push(calls((pipeline) => attachToPipeline(pipeline, observer)))
	if (events) {
		const { onEvent, around } = observer
		if (onEvent) ends.push(events.subscribe((event) => onEvent(event)))
		if (around) ends.push(events.addAround(around))
	}
	return combineEnds(ends)
}

function attachToPipeline(pipeline: ObservedPipeline, observer: Observer): () => void {
	const { compiled } = pipeline
	const { onEvent, level = 'notable' } = observer
	const calls = new AttachedObserver(observer)
	const ends = [observeCalls(compiled, calls), () => calls.detach()]
	if (onEvent) ends.push(subscribeTo(pipeline, onEvent, { level, onlyPipeline: compiled }))
	return combineEnds(ends)
}

/** An observer at one pipeline. */
class AttachedObserver implements CallObserver<Call> {
	readonly around?: NonNullable<CallObserver<Call>['around']>
	readonly onBegin?: NonNullable<CallObserver<Call>['onBegin']>
	readonly #observer: Observer
	#isAttached = true

	constructor(observer: Observer) {
		const { around, trusted } = observer
		this.#observer = observer
		if (!around) return
		this.around = (call, next) => around(infoOf(call), next) as Promise<unknown>
		this.onBegin = (call, times) => {
			if (!trusted || trusted.wantsAttempts(infoOf(call))) this.#wrapAttempts(call, times, around)
		}
	}

	onEnd(call: Call, times: CallTimes | undefined, outcome: CallOutcome): void {
		const { onCallEnd, trusted } = this.#observer
		const { pipeline, options } = call
		const info = infos.of(call)
		// A call that began before the observer was attached is unknown to it.
		if (!onCallEnd || !(times || info)) return
		// Saves a clock read and an object per call if no SDK is registered.
		if (trusted && !trusted.wantsCallEnd(info)) return
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
			info,
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
	const call = Context.callOf(context) as Call | undefined
	const index = call?.rare?.branch?.index
	if (!call || index === undefined) return 0
	const { number } = call.layerState({ index } as BoundLayer) as { readonly number: number }
	return number
}

/** Observer and engine both subscribe, and a foreign thenable may start its work each time. */
const toPromise = (result: unknown): unknown => {
	const { then } = (result ?? {}) as { then?: unknown }
	const isPlain = typeof then !== 'function' || (result instanceof Promise && then === Promise.prototype.then)
	return isPlain ? result : Promise.resolve(result)
}

/** What the functions around a call have received about it. */
const infos: CallFact<CallInfo> = new CallFact()

function infoOf(call: Call): CallInfo {
	const known = infos.of(call)
	if (known) return known
	const info = new Info(call)
	infos.set(call, info)
	return info
}

/** The info of a call is also its state: most calls have one observer with a value, and a Map is expensive. */
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
		return callIds.of(this.#call)
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
