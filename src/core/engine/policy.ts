import { pipelineNameOf } from '../errors/errors.ts'
import { createEvent } from '../events/create-event.ts'
import { type EventDetails, isRoutineEvent, type PolicyListener } from '../events/events.ts'
import { attachRecord } from '../explain/record.ts'
import type { EventFilter, Observable, Observation } from '../observe/observation.ts'
import { subscribeTo } from '../observe/subscribe.ts'
import { notify } from '../options/hooks.ts'
import { Call, type CompiledPipeline, type Layer, type Operation } from './call.ts'
import { type CallContext, type CallOptions, findInvalidOption, inheritCallOptions } from './call-options.ts'
import { compilePipeline, DEFAULT_ENV, inheritEnv, type UnboundLayer } from './compile.ts'
import type { LayerEnv } from './layer.ts'
import type { PolicyOptions } from './policy-options.ts'
import { run } from './runner.ts'

/** The outcome of a call as a value: `policy.settle(fn)` resolves with it and does not reject. */
export type Settled<T> =
	| { readonly ok: true; readonly value: T }
	| { readonly ok: false; readonly error: unknown }

/** Any function: `never` is assignable to every parameter type. */
type AnyFunction = (...args: never[]) => unknown

/**
 * A function with the same signature. A function that was not async now returns a promise, and the result of
 * a fallback is added to the function's own.
 */
type Wrapped<F extends AnyFunction, Substitute> = [ReturnType<F>, Substitute] extends [
	Promise<unknown>,
	Awaited<ReturnType<F>>,
]
	? F
	: (...args: Parameters<F>) => Promise<Awaited<ReturnType<F>> | Substitute>

/** What the fallbacks of a policy may return in place of the operation's result; `never` without a fallback. */
export type SubstituteOf<P> = P extends Policy<infer Substitute> ? Substitute : never

/**
 * What `retry()`, `timeout()`, `pipeline()` and the other factories of policies return. Call `execute` to run
 * an operation under it. `Substitute` is what a fallback in it may return in place of the operation's result.
 * A function that accepts every policy takes a `Policy<unknown>`.
 */
export abstract class Policy<out Substitute = never> implements Observable {
	/** Never set. Without it the compiler cannot infer `Substitute` from a subclass: the methods that return it are generic. */
	declare protected readonly substitute: Substitute
	/** The name in events and in `explain`. */
	readonly name: string
	/** @internal As the user passed them, with later changes. */
	protected options: PolicyOptions
	#compiled: CompiledPipeline | undefined

	/** @internal */
	constructor(name: string, options: PolicyOptions) {
		this.name = options.name ?? name
		this.options = options
	}

	/**
	 * Runs `fn` under this policy. If nothing has to wait, `fn` is called before `execute` returns.
	 *
	 * @example
	 * const user = await policy.execute(({ signal }) => loadUser(id, signal), { deadline: Deadline.after(2_000) })
	 */
	execute<T>(fn: (context: CallContext) => T, options?: CallOptions): Promise<Awaited<T> | Substitute> {
		const pipeline = this.compiled()
		const call = createCall(pipeline, options, fn)
		const runAround = pipeline.observer?.run
		return (runAround ? runAround(call, run) : run(call)) as Promise<Awaited<T> | Substitute>
	}

	/**
	 * Runs `fn` under this policy and returns `{ ok, value | error }` instead of rejecting. `explain(result)`
	 * refers to exactly this call.
	 */
	async settle<T>(
		fn: (context: CallContext) => T,
		options?: CallOptions,
	): Promise<Settled<Awaited<T> | Substitute>> {
		const call = createCall(this.compiled(), options, fn)
		call.rareState.keepsRecord = true
		let settled: Settled<Awaited<T> | Substitute>
		try {
			const runAround = call.pipeline.observer?.run
			const value = await (runAround ? runAround(call, run) : run(call))
			settled = { ok: true, value: value as Awaited<T> | Substitute }
		} catch (error) {
			settled = { ok: false, error }
		}
		if (call.stop) attachRecord(settled, call)
		return settled
	}

	/**
	 * Returns a function with the same signature that runs `fn` under this policy.
	 *
	 * @example
	 * const loadSafely = policy.wrap(loadUser)
	 */
	wrap<F extends AnyFunction>(fn: F): Wrapped<F, Substitute> {
		const policy = this
		const wrapped = function (this: unknown, ...args: Parameters<F>) {
			return policy.execute(() => Reflect.apply(fn, this, args))
		}
		return wrapped as unknown as Wrapped<F, Substitute>
	}

	/**
	 * Like `wrap`, for an operation that takes its context as the first argument.
	 *
	 * @example
	 * const load = policy.bind(({ signal }, id: string) => fetch(`/users/${id}`, { signal }))
	 * await load('7')
	 */
	bind<Args extends readonly unknown[], T>(
		fn: (context: CallContext, ...args: Args) => T,
	): (...args: Args) => Promise<Awaited<T> | Substitute> {
		return (...args) => this.execute((context) => fn(context, ...args))
	}

	/**
	 * Subscribes to every event of this policy, or of all policies of a pipeline, and to the `call` event of
	 * every call. Returns a function that unsubscribes.
	 */
	subscribe(listener: PolicyListener): () => void {
		const compiled = this.compiled()
		return subscribeTo({ compiled, listen: (...subscription) => this.listen(...subscription) }, listener)
	}

	/** @internal Subscribes without `call` events: a pipeline around this policy emits the `call` events of its own calls. */
	abstract listen(listener: PolicyListener, filter?: EventFilter): () => void

	'~observable'(): object {
		const observation: Observation = {
			kind: 'policy',
			calls: (attach) =>
				attach({
					compiled: this.compiled(),
					// A single policy is observed with the calls of all pipelines that contain it.
					listen: (listener, filter) =>
						this.listen(
							listener,
							this.leaves()[0] === this ? { ...filter, onlyPipeline: undefined } : filter,
						),
				}),
			members: () => [['', this]],
		}
		return observation
	}

	/** @internal The single policies that this one consists of. */
	leaves(): readonly Policy<unknown>[] {
		return [this]
	}

	/** @internal True if a call must not enter this policy twice: it would wait for a slot that it holds itself. */
	get isExclusive(): boolean {
		return false
	}

	/** @internal This policy's layers in the given environment, outermost first. */
	abstract layers(env: LayerEnv): readonly UnboundLayer[]

	/** @internal The environment inside this policy. */
	envInside(parent: LayerEnv): LayerEnv {
		return inheritEnv(this.options, parent)
	}

	/** @internal The compiled pipeline, created once. */
	compiled(): CompiledPipeline {
		this.#compiled ??= compilePipeline(this.name, this.layers(DEFAULT_ENV), this.envInside(DEFAULT_ENV))
		return this.#compiled
	}

	/** @internal Names the key that this policy serves in `keyed`, or the origin in an HTTP client. */
	setKey(key: string): void {
		for (const leaf of this.leaves()) if (leaf !== this) leaf.setKey?.(key)
	}
}

/** Creates a call with options of the user. If they are invalid, it is rejected. */
export function createCall(
	pipeline: CompiledPipeline,
	options: CallOptions | undefined,
	operation: Operation,
): Call {
	const invalid = options && findInvalidOption(options)
	if (invalid) {
		const call = new Call(pipeline, undefined, undefined)
		call.value = invalid
		return call
	}
	return new Call(
		pipeline,
		options?.parent ? inheritCallOptions(options, options.parent) : options,
		operation,
	)
}

/** Duck typing, because a policy may come from another copy of the package. */
export const isPolicy = (value: unknown): value is Policy<unknown> =>
	typeof (value as { layers?: unknown } | null | undefined)?.layers === 'function'

/** Emits an event of a call; or of no call, for example when an operator resets a breaker. */
export type Emit = (call: Call | undefined, env: LayerEnv | undefined, details: EventDetails) => void

/** A layer that emits events itself. */
export interface ObservableLayer extends Layer {
	/** Undefined while there is no listener, so that events then cost one comparison. */
	emit: Emit | undefined
	/** True if a listener needs events of calls that succeed at the first attempt. */
	emitsRoutine?: boolean
	/** The key that the policy serves, if it serves one. */
	key?: string | undefined
}

interface Subscription extends EventFilter {
	readonly listener: PolicyListener
}

const NO_LISTENERS: readonly Subscription[] = []

/** A policy that consists of one layer. It has listeners of its own. */
export abstract class LeafPolicy<out Substitute = never> extends Policy<Substitute> {
	/** @internal Subclasses declare the type of their own. */
	protected readonly layer: Layer & Partial<ObservableLayer>
	/** @internal The environment, as far as it is known: a pipeline may have provided the runtime. */
	protected env: LayerEnv
	#listeners: readonly Subscription[] = NO_LISTENERS

	/** @internal */
	constructor(name: string, options: PolicyOptions, layer: Layer) {
		super(name, options)
		this.layer = layer
		this.env = this.envInside(DEFAULT_ENV)
	}

	/** @internal */
	override listen(listener: PolicyListener, filter?: EventFilter): () => void {
		if (filter?.visit) return filter.visit(this)
		// An object per subscription: a function that subscribes twice is called twice, and each unsubscribe
		// removes one.
		const subscription = { ...filter, listener }
		const set = (listeners: readonly Subscription[]) => {
			this.#listeners = listeners
			this.setListening(
				listeners.length > 0,
				listeners.some(({ level }) => level !== 'notable'),
			)
		}
		set([...this.#listeners, subscription])
		return () => set(this.#listeners.filter((other) => other !== subscription))
	}

	/** @internal */
	override layers(env: LayerEnv): readonly UnboundLayer[] {
		const inside = this.envInside(env)
		// A direct call of this policy, outside its pipeline, must not replace the pipeline's runtime.
		if (env !== DEFAULT_ENV) this.env = inside
		const { runtime, classify } = inside
		return [{ layer: this.layer, runtime, classify }]
	}

	/** @internal A policy that serves several keys has none of its own. */
	override setKey(key: string): void {
		const { layer } = this
		layer.key = layer.key === undefined || layer.key === key ? key : SEVERAL_KEYS
	}

	/** @internal Without listeners, events are not even created. */
	protected setListening(isListening: boolean, emitsRoutine: boolean): void {
		this.layer.emit = isListening ? (...facts) => this.emit(...facts) : undefined
		this.layer.emitsRoutine = emitsRoutine
	}

	/** @internal */
	protected emit(call: Call | undefined, env: LayerEnv | undefined, details: EventDetails): void {
		const { runtime } = env ?? this.env
		const pipeline = pipelineNameOf(call?.pipeline.name ?? this.env.pipeline, this.name)
		const event = createEvent(call, { emitter: this.name, pipeline, key: this.layer.key, runtime }, details)
		for (const { listener, level, onlyPipeline } of this.#listeners) {
			if (level === 'notable' && isRoutineEvent(event)) continue
			if (onlyPipeline && call && call.pipeline !== onlyPipeline) continue
			notify('a listener', listener, event)
		}
	}
}

const SEVERAL_KEYS = ''
