import type { Call, Seat } from '../engine/call.ts'
import { GO, type Step } from '../engine/layer.ts'
import { LeafPolicy, type Tell, type TellingLayer } from '../engine/leaf-policy.ts'
import type { Changes } from '../engine/policy-options.ts'
import { RateLimitedError } from '../errors/errors.ts'
import { changed } from '../options/rules.ts'
import { ThrottleDecision } from './decision.ts'
import { readThrottleOptions, type ThrottleOptions } from './options.ts'

/** How an adaptive throttle sees the other side. */
export interface ThrottleStats {
	/** With which probability the next call is refused, 0 to 1. */
	readonly rejectProbability: number
}

/**
 * Refuses a share of the calls on this side when the other side is too busy to accept them: the more it turns down, the fewer
 * are sent. Calls that are refused end with a RateLimitedError at once.
 *
 * @example
 * const policy = new AdaptiveThrottle({ k: 2 })
 */
export class AdaptiveThrottle extends LeafPolicy {
	readonly #layer: ThrottleLayer
	#options: ThrottleOptions

	constructor(options: ThrottleOptions = {}) {
		const { k, windowMs } = readThrottleOptions(options)
		const layer = new ThrottleLayer(new ThrottleDecision(k, windowMs))
		super('adaptiveThrottle', options, layer)
		layer.name = this.name
		this.#layer = layer
		this.#options = options
	}

	get stats(): ThrottleStats {
		return { rejectProbability: this.#layer.decision.probability(this.around.runtime.now()) }
	}

	/** Other settings from now on. What was counted stays. */
	update(options: Changes<ThrottleOptions>): void {
		const next = changed(this.#options, options)
		const { k, windowMs } = readThrottleOptions(next)
		this.#options = next
		this.#layer.decision.update(k, windowMs, this.around.runtime.now())
	}
}

class ThrottleLayer implements TellingLayer {
	readonly decision: ThrottleDecision
	name = ''
	tell: Tell | undefined

	constructor(decision: ThrottleDecision) {
		this.decision = decision
	}

	enter(call: Call, seat: Seat): Step {
		const { runtime } = seat
		const now = call.now(runtime)
		const probability = this.decision.probability(now)
		this.decision.request(now)
		if (probability === 0 || runtime.random() >= probability) return call.visit(seat)
		this.tell?.(call, seat, { type: 'rejected', reason: 'throttled' })
		return call.refuse(new RateLimitedError(this.name))
	}

	/** Whoever answers, even that the call was wrong, has accepted it; and who gave up waiting was not turned down. */
	leave(call: Call, seat: Seat): Step {
		const kind = call.ok ? 'permanent' : call.judge(seat).kind
		if (kind === 'permanent' || kind === 'cancelled') this.decision.accept(seat.runtime.now())
		return GO
	}
}

/**
 * An adaptive throttle: `new AdaptiveThrottle(options)`.
 *
 * @example
 * const search = pipeline(adaptiveThrottle(), retry(presets.interactive), timeout(1_000))
 */
export function adaptiveThrottle(options?: ThrottleOptions): AdaptiveThrottle {
	return new AdaptiveThrottle(options)
}
