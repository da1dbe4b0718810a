import type { BoundLayer, Call } from '../engine/call.ts'
import type { Step } from '../engine/layer.ts'
import { type Emit, LeafPolicy, type ObservableLayer } from '../engine/policy.ts'
import type { Changes } from '../engine/policy-options.ts'
import { RateLimitedError } from '../errors/errors.ts'
import { mergeOptions } from '../options/schema.ts'
import { ThrottleDecision } from './decision.ts'
import { type AdaptiveThrottleOptions, readThrottleOptions, type ThrottleSettings } from './options.ts'

/** The probability that the next call is rejected. Read it from `stats` of an `AdaptiveThrottle`. */
export interface AdaptiveThrottleStats {
	/** The probability that the next call is rejected, 0 to 1. */
	readonly rejectProbability: number
}

/**
 * A policy that rejects a share of the calls locally while the dependency is overloaded: the fewer calls the
 * dependency accepts, the fewer are sent. `adaptiveThrottle()` creates it. A rejected call fails immediately
 * with a `RateLimitedError`.
 */
export class AdaptiveThrottle extends LeafPolicy {
	/** @internal */
	declare protected readonly layer: ThrottleLayer

	constructor(options: AdaptiveThrottleOptions = {}) {
		super(DEFAULT_NAME, options, new ThrottleLayer(readThrottleOptions(options)))
	}

	get stats(): AdaptiveThrottleStats {
		return { rejectProbability: this.layer.decision.probability(this.env.runtime.now()) }
	}

	/** Changes the given options. The counts stay. */
	update(options: Changes<AdaptiveThrottleOptions>): void {
		const next = mergeOptions(this.options, options)
		this.layer.decision.update(readThrottleOptions(next), this.env.runtime.now())
		this.options = next
	}
}

const DEFAULT_NAME = 'adaptiveThrottle'

class ThrottleLayer implements ObservableLayer {
	readonly name: string
	readonly decision: ThrottleDecision
	emit: Emit | undefined

	constructor(settings: ThrottleSettings) {
		this.name = settings.name ?? DEFAULT_NAME
		this.decision = new ThrottleDecision(settings)
	}

	enter(call: Call, bound: BoundLayer): Step {
		const { runtime } = bound
		const now = call.now(runtime)
		const probability = this.decision.probability(now)
		this.decision.request(now)
		if (probability === 0 || runtime.random() >= probability) return call.enterLayer(bound)
		this.emit?.(call, bound, { type: 'rejected', reason: 'adaptive-throttle' })
		const why = 'call throttled, because the service is rejecting most requests'
		return call.reject(new RateLimitedError(this.name, undefined, call.pipeline.name, undefined, why))
	}

	/** A permanent failure means that the dependency has accepted the call. A cancelled call was not rejected. */
	leave(call: Call, bound: BoundLayer): Step {
		const kind = call.ok ? 'permanent' : call.classify(bound).kind
		if (kind === 'permanent' || kind === 'cancelled') this.decision.accept(bound.runtime.now())
		return 'continue'
	}
}

/**
 * Creates a policy that rejects a share of the calls while the dependency is overloaded.
 *
 * @example
 * const search = pipeline(adaptiveThrottle(), retry(presets.interactive), timeout(1_000))
 */
export function adaptiveThrottle(options?: AdaptiveThrottleOptions): AdaptiveThrottle {
	return new AdaptiveThrottle(options)
}
