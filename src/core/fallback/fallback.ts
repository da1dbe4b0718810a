import type { BoundLayer, Call } from '../engine/call.ts'
import type { CallContext } from '../engine/call-options.ts'
import type { Step } from '../engine/layer.ts'
import { type Emit, LeafPolicy, type ObservableLayer } from '../engine/policy.ts'
import {
	type Changes,
	POLICY_SCHEMA,
	type PolicyOptions,
	readPolicyOptions,
} from '../engine/policy-options.ts'
import { errorFacts } from '../events/error-facts.ts'
import { type Hook, requireSync } from '../options/hooks.ts'
import { invalidOption, mergeOptions, type OptionSchema } from '../options/schema.ts'
import { LastGoodValue } from './last-good-value.ts'

/** Any value. `unknown` would lose literals: `fallback('none')` returns `'none'`, not a string. */
type Value = string | number | bigint | boolean | symbol | NonNullable<unknown> | null | undefined

type AlternativeFunction<T> = Hook<[error: unknown, context: CallContext], T | PromiseLike<T>>

/** What replaces the result of a failed call: a value, a function of the error, or the last good value. */
export type Alternative<T> = T | PromiseLike<T> | AlternativeFunction<T> | LastGoodValue

/** What an alternative returns. The last good value is a result of the operation. */
type ResultOf<A> = A extends LastGoodValue
	? never
	: A extends (...args: never[]) => infer Result
		? Awaited<Result>
		: Awaited<A>

/** Options of `fallback`, its second argument: which errors it handles, and further alternatives. */
export interface FallbackOptions<Other = unknown> extends PolicyOptions {
	/** Return true if the fallback handles this error. Default: every error but the caller's own abort. */
	readonly when?: Hook<[error: unknown], boolean> | undefined
	/** Further alternatives, in this order. The next one is tried if an alternative fails or has no value. */
	readonly orElse?: readonly Other[] | undefined
}

const FALLBACK_SCHEMA: OptionSchema = { when: 'function', orElse: 'any', ...POLICY_SCHEMA }

/**
 * A policy that replaces the failure of a call with another result. `fallback()` creates it. It never
 * replaces the caller's own abort.
 *
 * @example
 * const policy = fallback(() => loadFromReplica(id), { orElse: [lastGoodValue(60_000), undefined] })
 */
export class Fallback<Substitute = unknown> extends LeafPolicy<Exclude<Substitute, LastGoodValue>> {
	/** @internal */
	declare protected readonly layer: FallbackLayer

	constructor(alternative: Alternative<Substitute>, options: FallbackOptions<Alternative<Substitute>> = {}) {
		super('fallback', options, new FallbackLayer(alternative, read(options)))
	}

	/** Changes `when` or `orElse` for later calls. */
	update(options: Changes<FallbackOptions<Alternative<Substitute>>>): void {
		const next = mergeOptions(this.options, options)
		this.layer.settings = read(next)
		this.options = next
	}
}

function read(options: FallbackOptions): FallbackOptions {
	const settings = readPolicyOptions<FallbackOptions>(options, 'fallback', FALLBACK_SCHEMA)
	const { orElse } = settings
	if (orElse !== undefined && !Array.isArray(orElse))
		invalidOption('orElse', orElse, 'a list of alternatives')
	return settings
}

export class FallbackLayer implements ObservableLayer {
	/** How many alternatives were tried. */
	declare readonly callState: number
	readonly first: unknown
	settings: FallbackOptions
	emit: Emit | undefined

	constructor(first: unknown, settings: FallbackOptions) {
		this.first = first
		this.settings = settings
	}

	enter(call: Call, bound: BoundLayer<FallbackLayer>): Step {
		// After a failed alternative, an outer retry may run the operation again, and its result counts.
		if (call.rare) call.rare.isSubstituted = false
		return call.enterLayer(bound, 0)
	}

	leave(call: Call, bound: BoundLayer<FallbackLayer>): Step {
		const { first, settings, emit } = this
		const { value: error, rare } = call
		const tried = call.layerState(bound)
		const alternatives = [first, ...(settings.orElse ?? [])]
		if (rare) rare.substitute = undefined
		if (call.ok) {
			// Reset only now: if the alternative fails too, outer layers need the decision of an inner retry.
			if (tried) call.stop = undefined
			else
				for (const alternative of alternatives)
					if (alternative instanceof LastGoodValue) alternative.keep(call, bound)
			return 'continue'
		}
		if (rare?.interruption || call.isAborted) return 'continue'
		if (!tried) {
			call.classify(bound)
			if (settings.when && !requireSync('when', settings.when(error))) return 'continue'
		}
		for (let i = tried; i < alternatives.length; i++) {
			const alternative = alternatives[i]
			const found =
				alternative instanceof LastGoodValue ? alternative.find(call, bound) : { value: alternative }
			if (!found) continue
			if (!tried) emit?.(call, bound, { type: 'fallback', ...errorFacts(error) })
			call.enterLayer(bound, i + 1)
			call.rareState.isSubstituted = true
			if (typeof alternative === 'function') {
				call.rareState.substitute = (context: CallContext) => alternative(error, context)
				return 'run'
			}
			call.ok = true
			call.value = found.value
			call.stop = undefined
			return 'continue'
		}
		return 'continue'
	}
}

/**
 * Creates a policy that replaces the failure of a call with a value, the result of a function, or
 * `lastGoodValue()`; never the caller's own abort. Put it first in a pipeline, outside `retry` and
 * `circuitBreaker`.
 *
 * @example
 * const prices = pipeline(fallback([]), retry(), timeout(2_000))
 * const orders = pipeline(fallback((error) => loadFromReplica(error)), retry())
 */
export function fallback<
	T extends Value = never,
	Other extends Value | AlternativeFunction<unknown> | LastGoodValue = never,
>(alternative: Alternative<T>, options?: FallbackOptions<Other>): Fallback<T | ResultOf<Other>>
export function fallback(alternative: unknown, options?: FallbackOptions): Fallback {
	return new Fallback(alternative, options)
}
