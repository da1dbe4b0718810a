/**
 * The context of an incoming request: its deadline, its attempt number, and whether the caller retries. It is
 * a real call of core, with a retry layer if the caller has one, so policies inside find the caller's retry,
 * deadline and signal as in a surrounding pipeline, and core does not know that they came over the
 * network. The alternative, options that every policy and client has to check, would be forgotten in the next
 * one.
 */
import { Call } from '../../core/engine/call.ts'
import type { CallOptions } from '../../core/engine/call-options.ts'
import { compilePipeline } from '../../core/engine/compile.ts'
import { Context } from '../../core/engine/context.ts'
import type { LayerEnv } from '../../core/engine/layer.ts'
import { RetryLayer } from '../../core/retry/layer.ts'
import { readRetryOptions } from '../../core/retry/options.ts'
import type { ServerContext } from './options.ts'

/** A context of core, so that core finds its call. */
export class RequestContext extends Context implements ServerContext {
	readonly #call: Call

	constructor(call: Call, attempt: number) {
		super(call, call, attempt)
		this.#call = call
	}

	get isExpired(): boolean {
		return this.deadline?.isExpired === true
	}

	get retriesExhausted(): boolean {
		const { innerFailure } = this.#call.rare ?? {}
		// A failure that the retry in this service does not handle is left to the caller.
		return innerFailure !== undefined && innerFailure.stop !== 'should-retry-false'
	}

	end(): void {
		this.#call.settle(true, undefined)
	}
}

/**
 * Begins a call that is not run: its operation is a request handler. `nested` is which retry layer the caller
 * wants to retry. Undefined: the caller is assumed not to retry, and retry layers inside are the outermost.
 */
export function openCall(
	options: CallOptions,
	nested: 'innermost' | 'outermost' | undefined,
	env: LayerEnv,
): Call {
	const layers = nested ? [{ layer: new RetryLayer(readRetryOptions({ nested })), ...env }] : []
	const pipeline = compilePipeline('request', layers, env)
	const call = new Call(pipeline, options, () => undefined)
	if (pipeline.first) call.enterLayer(pipeline.first)
	return call
}
