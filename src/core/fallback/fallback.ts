import type { BoundLayer, Call } from '../engine/call.ts'
import type { CallContext } from '../engine/call-options.ts'
import { requireSync } from '../engine/hooks.ts'
import { GO, type Step, SUBSTITUTE } from '../engine/layer.ts'
import { type Emit, LeafPolicy, type ObservableLayer } from '../engine/policy.ts'
import {
	type Changes,
	checkPolicyOptions,
	POLICY_SCHEMA,
	type PolicyOptions,
} from '../engine/policy-options.ts'
import { errorFacts } from '../events/error-facts.ts'
import { invalidOption, mergeOptions, type OptionSchema, readOptions } from '../options/schema.ts'
import { LastGoodValue } from './last-good-value.ts'

/** What replaces the result of a failed call: a value, a function of the error, or the last good value. */
export type Alternative = unknown

/** Which errors the fallback handles, and further alternatives. */
export interface FallbackOptions extends PolicyOptions {
	/** Return true if the fallback handles this error. Default: every error. The caller's own abort is never replaced. */
	readonly when?: ((error: unknown) => boolean) | undefined
	/** Further alternatives, in this order. The next one is tried if an alternative fails or has no value. */
	readonly orElse?: readonly Alternative[] | undefined
}

const FALLBACK_SCHEMA: OptionSchema = { when: 'function', orElse: 'any', ...POLICY_SCHEMA }

/**
 * Replaces the failure of a call with another result. Never replaces the caller's own abort.
 *
 * @example
 * const policy = new Fallback(() => loadFromReplica(id), { orElse: [lastGoodValue(60_000), undefined] })
 */
export class Fallback extends LeafPolicy {
	readonly #layer: FallbackLayer
	#options: FallbackOptions

	constructor(alternative: Alternative, options: FallbackOptions = {}) {
		const layer = new FallbackLayer(alternative, read(options))
		super('fallback', options, layer)
		this.#layer = layer
		this.#options = options
	}

	/** Changes `when` or `orElse` for later calls. */
	update(options: Changes<FallbackOptions>): void {
		const next = mergeOptions(this.#options, options)
		this.#layer.settings = read(next)
		this.#options = next
	}
}

function read(options: FallbackOptions): FallbackOptions {
	checkPolicyOptions(options, FALLBACK_SCHEMA, 'fallback')
	const { orElse } = options
	if (orElse !== undefined && !Array.isArray(orElse))
		invalidOption('orElse', orElse, 'a list of alternatives')
	return readOptions(options, FALLBACK_SCHEMA)
}

export class FallbackLayer implements ObservableLayer {
	readonly first: Alternative
	settings: FallbackOptions
	emit: Emit | undefined

	constructor(first: Alternative, settings: FallbackOptions) {
		this.first = first
		this.settings = settings
	}

	enter(call: Call, bound: BoundLayer): Step {
		// After a failed alternative, an outer retry may run the operation again, and its result counts.
		if (call.rare) call.rare.isSubstituted = false
		return call.enterLayer(bound, 0)
	}

	leave(call: Call, bound: BoundLayer): Step {
		const { first, settings, emit } = this
		const { value: error, rare } = call
		const tried = call.layerState(bound) as number
		const alternatives = [first, ...(settings.orElse ?? [])]
		if (rare) rare.substitute = undefined
		if (call.ok) {
			// Only now: if the alternative fails too, the decision of an inner retry still stands, and outer layers need
			// it.
			if (tried) call.stop = undefined
			else
				for (const alternative of alternatives)
					if (alternative instanceof LastGoodValue) alternative.keep(call, bound)
			return GO
		}
		if (rare?.interruption || call.isAborted) return GO
		if (!tried) {
			call.classify(bound)
			if (settings.when && !requireSync('when', settings.when(error))) return GO
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
				return SUBSTITUTE
			}
			call.ok = true
			call.value = found.value
			call.stop = undefined
			return GO
		}
		return GO
	}
}

/**
 * Creates a fallback: `new Fallback(valueOrFunction, options)`.
 *
 * @example
 * const prices = pipeline(fallback([]), retry(), timeout(2_000))
 * const orders = pipeline(fallback((error) => loadFromReplica(error)), retry())
 */
export function fallback(alternative: Alternative, options?: FallbackOptions): Fallback {
	return new Fallback(alternative, options)
}
