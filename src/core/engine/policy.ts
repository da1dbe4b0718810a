import type { PolicyListener } from '../events/events.ts'
import { attachRecord } from '../explain/record.ts'
import type { CompiledPipeline } from './call.ts'
import { Call } from './call.ts'
import type { CallContext, CallOptions } from './call-options.ts'
import { compilePipeline, type UnboundLayer } from './compile.ts'
import { DEFAULT_ENV, inheritEnv } from './env.ts'
import type { LayerEnv } from './layer.ts'
import type { PolicyOptions } from './policy-options.ts'
import { run } from './runner.ts'

/** The answer of `settle`: what came of a call, never thrown. */
export type Settled<T> =
	| { readonly ok: true; readonly value: T }
	| { readonly ok: false; readonly error: unknown }

/** Any function at all: whatever its parameters are, `never` fits them. */
type AnyFunction = (...args: never[]) => unknown

/** A function with the same signature; one that was not async returns a promise now. */
export type Wrapped<F extends AnyFunction> =
	ReturnType<F> extends Promise<unknown> ? F : (...args: Parameters<F>) => Promise<Awaited<ReturnType<F>>>

/** What a pipeline is called that was given no name. */
export const UNNAMED = 'pipeline'

/** Anything that stands between a caller and its work: one policy, or a pipeline of them. */
export abstract class Policy {
	/** What it is called in events and in `explain`. */
	readonly name: string
	readonly #own: PolicyOptions
	#compiled: CompiledPipeline | undefined

	/** @internal */
	constructor(name: string, own: PolicyOptions) {
		this.name = own.name ?? name
		this.#own = own
	}

	/**
	 * Runs `fn` under this policy. When nothing must be waited for, `fn` is called before `execute` returns.
	 *
	 * @example
	 * const user = await policy.execute(({ signal }) => loadUser(id, signal), { deadline: Deadline.after(2_000) })
	 */
	execute<T>(fn: (context: CallContext) => T, options?: CallOptions): Promise<Awaited<T>> {
		return run(new Call(this.compiled(), options, fn)) as Promise<Awaited<T>>
	}

	/** The same, but answers `{ ok, value | error }` and never rejects. `explain` of the answer is exact. */
	async settle<T>(fn: (context: CallContext) => T, options?: CallOptions): Promise<Settled<Awaited<T>>> {
		const call = new Call(this.compiled(), options, fn)
		call.rareState.keepsRecord = true
		let settled: Settled<Awaited<T>>
		try {
			settled = { ok: true, value: (await run(call)) as Awaited<T> }
		} catch (error) {
			settled = { ok: false, error }
		}
		if (call.stop) attachRecord(settled, call)
		return settled
	}

	/**
	 * Gives a function its policy for good; the signature stays.
	 *
	 * @example
	 * const chargeSafely = payments.wrap(charge)
	 */
	wrap<F extends AnyFunction>(fn: F): Wrapped<F> {
		const policy = this
		const wrapped = function (this: unknown, ...args: Parameters<F>) {
			return policy.execute(() => Reflect.apply(fn, this, args))
		}
		return wrapped as unknown as Wrapped<F>
	}

	/**
	 * The same for work that wants its context.
	 *
	 * @example
	 * const load = policy.bind(({ signal }, id: string) => fetch(`/users/${id}`, { signal }))
	 * await load('7')
	 */
	bind<Args extends readonly unknown[], T>(
		fn: (context: CallContext, ...args: Args) => T,
	): (...args: Args) => Promise<Awaited<T>> {
		return (...args) => this.execute((context) => fn(context, ...args))
	}

	/** Listens to every event of this policy, or of all policies of a pipeline. Returns what ends it. */
	abstract subscribe(listener: PolicyListener): () => void

	/** @internal The single policies that this one is made of. */
	leaves(): readonly Policy[] {
		return [this]
	}

	/** @internal This policy's layers, outermost first, as they stand in these surroundings. */
	abstract layers(around: LayerEnv): readonly UnboundLayer[]

	/** @internal What holds inside this policy. */
	envInside(around: LayerEnv): LayerEnv {
		return inheritEnv(this.#own, around)
	}

	/** @internal The plan, made once. */
	compiled(): CompiledPipeline {
		this.#compiled ??= compilePipeline(this.name, this.layers(DEFAULT_ENV), this.envInside(DEFAULT_ENV))
		return this.#compiled
	}
}
