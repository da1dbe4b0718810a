import type { Call, Seat } from '../engine/call.ts'
import type { CallContext } from '../engine/call-options.ts'
import { decided } from '../engine/hooks.ts'
import { GO, type Step, SUBSTITUTE } from '../engine/layer.ts'
import { LeafPolicy, type Tell, type TellingLayer } from '../engine/leaf-policy.ts'
import {
	type Changes,
	checkPolicyOptions,
	POLICY_RULES,
	type PolicyOptions,
} from '../engine/policy-options.ts'
import { describeError } from '../explain/record.ts'
import { changed, type Rules, readOptions, refuse } from '../options/rules.ts'
import { LastGood } from './last-good.ts'

/** What answers in the place of a call: a value, a function of the error, or the last good result. */
export type Alternative = unknown

/** When a fallback answers, and what else there is. */
export interface FallbackOptions extends PolicyOptions {
	/** Is this an error to answer for? Default: every one. The caller's own abort is never masked. */
	readonly when?: ((error: unknown) => boolean) | undefined
	/** What is tried next, in this order, when an alternative fails itself or has nothing. */
	readonly orElse?: readonly Alternative[] | undefined
}

const RULES: Rules = { when: 'function', orElse: 'any', ...POLICY_RULES }

/**
 * Answers for a call that failed. Never masks the caller's own abort.
 *
 * @example
 * const policy = new Fallback(() => loadFromReplica(id), { orElse: [lastGood(60_000), undefined] })
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

	/** Another `when` or `orElse` for the calls to come. */
	update(options: Changes<FallbackOptions>): void {
		const next = changed(this.#options, options)
		this.#layer.settings = read(next)
		this.#options = next
	}
}

function read(options: FallbackOptions): FallbackOptions {
	checkPolicyOptions(options, RULES)
	const { orElse } = options
	if (orElse !== undefined && !Array.isArray(orElse)) refuse('orElse', orElse, 'a list of alternatives')
	return readOptions(options, RULES)
}

export class FallbackLayer implements TellingLayer {
	readonly first: Alternative
	settings: FallbackOptions
	tell: Tell | undefined

	constructor(first: Alternative, settings: FallbackOptions) {
		this.first = first
		this.settings = settings
	}

	enter(call: Call, seat: Seat): Step {
		// After an alternative that failed, a retry further out may have the work itself answer in the end.
		if (call.aside) call.aside.isSubstituted = false
		return call.visit(seat, 0)
	}

	leave(call: Call, seat: Seat): Step {
		const { first, settings, tell } = this
		const { value: error, aside } = call
		const tried = call.kept(seat) as number
		const alternatives = [first, ...(settings.orElse ?? [])]
		if (aside) aside.instead = undefined
		if (call.ok) {
			// Only now: when an alternative fails too, a retry further in has still given up, and those around must know.
			if (tried) call.stop = undefined
			else for (const kept of alternatives) if (kept instanceof LastGood) kept.keep(call, seat)
			return GO
		}
		if (aside?.cut || call.isAborted) return GO
		if (!tried) {
			call.judge(seat)
			if (settings.when && !decided('when', settings.when(error))) return GO
		}
		for (let i = tried; i < alternatives.length; i++) {
			const alternative = alternatives[i]
			const found = alternative instanceof LastGood ? alternative.find(call, seat) : { value: alternative }
			if (!found) continue
			if (!tried) tell?.(call, seat, { type: 'fallback', ...describeError(error) })
			call.visit(seat, i + 1)
			call.extra.isSubstituted = true
			if (typeof alternative === 'function') {
				call.extra.instead = (context: CallContext) => alternative(error, context)
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
 * A fallback: `new Fallback(valueOrFunction, options)`.
 *
 * @example
 * const prices = pipeline(fallback([]), retry(), timeout(2_000))
 * const orders = pipeline(fallback((error) => loadFromReplica(error)), retry())
 */
export function fallback(alternative: Alternative, options?: FallbackOptions): Fallback {
	return new Fallback(alternative, options)
}
