/**
 * Calls that know which call they are part of, without being handed its context: it travels in the async context. The
 * only piece of the lower floors that is bound to Node, which is why it is a subpath of its own; Bun and Deno have the module as well. A
 * policy has to be asked for it: an async context that worked behind everybody's back would be global state.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { CallContext, CallOptions } from '../core/engine/call-options.ts'
import type { UnboundLayer } from '../core/engine/compile.ts'
import { Policy, type Settled } from '../core/engine/policy.ts'
import { InvalidOptionError } from '../core/errors/errors.ts'
import type { PolicyListener } from '../core/events/events.ts'

const storage = new AsyncLocalStorage<CallOptions>()

/** What belongs to the call whose work, or to the request whose handler, this is asked from. */
export function currentContext(): CallOptions | undefined {
	return storage.getStore()
}

/**
 * Runs `fn` as part of a call: what is said here holds for every call that an ambient policy makes inside of it, however deep.
 *
 * @example
 * await withContext({ deadline: Deadline.after(2_000) }, () => handle(request))
 */
export function runWithContext<T>(options: CallOptions, fn: () => T): T {
	return storage.run(inherited(options) ?? options, fn)
}

/**
 * The same policy, whose calls take over the deadline, the signal, the key and the attempt of the call that they are part of, and
 * hand their own on. Retries around each other then do not multiply.
 *
 * @example
 * const inner = ambient(retry(presets.database))
 * const outer = ambient(retry(presets.interactive))
 * await outer.execute(() => inner.execute(() => query(sql)))
 */
export function withAmbientContext(policy: Policy): Policy {
	return new AmbientPolicy(policy)
}

class AmbientPolicy extends Policy {
	readonly #policy: Policy

	constructor(policy: Policy) {
		super(policy.name, {})
		this.#policy = policy
	}

	override execute<T>(fn: (context: CallContext) => T, options?: CallOptions): Promise<Awaited<T>> {
		return this.#policy.execute(inContext(fn), inherited(options))
	}

	override settle<T>(fn: (context: CallContext) => T, options?: CallOptions): Promise<Settled<Awaited<T>>> {
		return this.#policy.settle(inContext(fn), inherited(options))
	}

	override subscribe(listener: PolicyListener): () => void {
		return this.#policy.subscribe(listener)
	}

	override leaves(): readonly Policy[] {
		return this.#policy.leaves()
	}

	/** Inside of another policy it would be just the policy that it was made of, and nobody would notice. */
	override layers(): readonly UnboundLayer[] {
		throw new InvalidOptionError('ambient(policy)', this.name, 'the outermost place: ambient(pipeline(...))')
	}
}

const inContext =
	<T>(fn: (context: CallContext) => T) =>
	(context: CallContext): T =>
		storage.run(context, () => fn(context))

/** Who hands a context on, as options or among them, has said what the call is part of. */
function inherited(options: CallOptions | undefined): CallOptions | undefined {
	const around = storage.getStore()
	if (!around || options?.parent || (options && 'attempt' in options)) return options
	return options ? { ...options, parent: around } : around
}
