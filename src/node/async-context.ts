/**
 * Passes a call's context to the calls inside it through AsyncLocalStorage, so that it need not be passed as
 * an argument. It is a subpath of its own because it needs a Node module, which Bun and Deno have too. A
 * policy has to opt in: an async context that applies to all policies would be hidden global state.
 */

import type { CallContext, CallOptions } from '../core/engine/call-options.ts'
import type { UnboundLayer } from '../core/engine/compile.ts'
import { Policy, type Settled } from '../core/engine/policy.ts'
import { InvalidArgumentError } from '../core/errors/errors.ts'
import type { PolicyListener } from '../core/events/events.ts'
import type { EventFilter } from '../core/observe/observation.ts'
import { storage } from './storage.ts'

/**
 * Returns the context of the call or request in which the current code runs, or undefined.
 * `withAmbientContext` and `runWithContext` set it.
 */
export function currentContext(): CallOptions | undefined {
	return storage.getStore()
}

/**
 * Runs `fn` with these call options as context: all calls inside it, however deep, that use
 * `withAmbientContext` inherit them.
 *
 * @example
 * await runWithContext({ deadline: Deadline.after(2_000) }, () => handle(request))
 */
export function runWithContext<T>(options: CallOptions, fn: () => T): T {
	return storage.run(inherit(options) ?? options, fn)
}

/**
 * Returns a policy whose calls inherit deadline, signal, key and `idempotent` from the call or
 * `runWithContext` around them, so that nested retries do not multiply. Use it where you cannot pass a
 * context as an argument. It must be outermost: `withAmbientContext(pipeline(...))`.
 *
 * @example
 * const inner = withAmbientContext(retry(presets.database))
 * const outer = withAmbientContext(retry(presets.interactive))
 * await outer.execute(() => inner.execute(() => query(sql)))
 */
export function withAmbientContext<Substitute>(policy: Policy<Substitute>): Policy<Substitute> {
	return new AmbientPolicy(policy)
}

class AmbientPolicy<Substitute> extends Policy<Substitute> {
	readonly #policy: Policy<Substitute>

	constructor(policy: Policy<Substitute>) {
		super(policy.name, {})
		this.#policy = policy
	}

	override execute<T>(
		fn: (context: CallContext) => T,
		options?: CallOptions,
	): Promise<Awaited<T> | Substitute> {
		return this.#policy.execute(inContext(fn), inherit(options))
	}

	override settle<T>(
		fn: (context: CallContext) => T,
		options?: CallOptions,
	): Promise<Settled<Awaited<T> | Substitute>> {
		return this.#policy.settle(inContext(fn), inherit(options))
	}

	override subscribe(listener: PolicyListener): () => void {
		return this.#policy.subscribe(listener)
	}

	override listen(listener: PolicyListener, filter?: EventFilter): () => void {
		return this.#policy.listen(listener, filter)
	}

	override '~observable'(): object {
		return { identity: this.#policy, ...this.#policy['~observable']() }
	}

	override leaves(): readonly Policy<unknown>[] {
		return this.#policy.leaves()
	}

	/** Inside another policy it would have no effect, so that is an error. */
	override layers(): readonly UnboundLayer[] {
		const expected = 'withAmbientContext as the outermost policy, as in withAmbientContext(pipeline(...))'
		throw new InvalidArgumentError('policies', this.name, expected)
	}
}

const inContext =
	<T>(fn: (context: CallContext) => T) =>
	(context: CallContext): T =>
		storage.run(context, () => fn(context))

/** Options that are a context, or that contain a parent, already name the call around. */
function inherit(options: CallOptions | undefined): CallOptions | undefined {
	const outer = storage.getStore()
	if (!outer || options?.parent || (options && 'attempt' in options)) return options
	return options ? { ...options, parent: outer } : outer
}
