/**
 * What a policy is made of, as lint looks at it: one part for each policy of a pipeline, outermost first. The layers are told apart by
 * their classes and not by a name that each would carry, so that who does not lint pays nothing for it.
 */
import type { Budget } from '../budget/budget.ts'
import { QuotaBudget } from '../budget/quota-budget.ts'
import { RetryBudget } from '../budget/retry-budget.ts'
import { TokenBudget } from '../budget/token-budget.ts'
import { BulkheadLayer } from '../bulkhead/layer.ts'
import type { QueueSettings } from '../bulkhead/options.ts'
import { CircuitBreakerLayer } from '../circuit-breaker/layer.ts'
import type { CircuitBreakerSettings } from '../circuit-breaker/options.ts'
import type { Classification } from '../classify/classification.ts'
import type { UnboundLayer } from '../engine/compile.ts'
import { LeafPolicy, type Policy } from '../engine/policy.ts'
import { FallbackLayer } from '../fallback/fallback.ts'
import { HedgeLayer } from '../hedge/layer.ts'
import type { HedgeSettings } from '../hedge/options.ts'
import { Keyed } from '../keyed/keyed.ts'
import type { RateLimiterSettings } from '../rate-limiter/options.ts'
import { RateLimiterLayer } from '../rate-limiter/rate-limiter.ts'
import { RetryLayer } from '../retry/layer.ts'
import type { RetrySettings } from '../retry/options.ts'
import { AdaptiveThrottle } from '../throttle/adaptive-throttle.ts'
import { TimeoutLayer } from '../timeout/layer.ts'

export interface RetryPart {
	readonly kind: 'retry'
	readonly name: string
	readonly settings: RetrySettings
	readonly classify: (error: unknown) => Classification
	/** Does it leave everything to a retry around it? */
	readonly isLeftToOuter: boolean
	/** Does a retry further in ask it to? What that one does not see is then still its own. */
	readonly isAskedTo: boolean
}

interface BulkheadPart {
	readonly kind: 'bulkhead'
	readonly name: string
	readonly settings: QueueSettings
	/** Undefined when the bulkhead tunes itself. */
	readonly maxConcurrent: number | undefined
}

export interface BreakerPart {
	readonly kind: 'breaker'
	readonly name: string
	readonly settings: CircuitBreakerSettings
}

export interface FallbackPart {
	readonly kind: 'fallback'
	readonly name: string
	readonly alternatives: readonly unknown[]
	/** Does it let some errors pass? */
	readonly isChoosy: boolean
}

interface HedgePart {
	readonly kind: 'hedge'
	readonly name: string
	readonly settings: HedgeSettings
}

export interface TimeoutPart {
	readonly kind: 'timeout'
	readonly name: string
	readonly ms: number
}

interface LimiterPart {
	readonly kind: 'limiter'
	readonly name: string
	readonly settings: RateLimiterSettings
}

/** A throttle; or a policy that lint does not know, and which may therefore do anything. */
interface OtherPart {
	readonly kind: 'throttle' | 'stranger'
	readonly name: string
}

export type Part =
	| RetryPart
	| BulkheadPart
	| BreakerPart
	| FallbackPart
	| HedgePart
	| TimeoutPart
	| LimiterPart
	| OtherPart

export function partsOf(policy: Policy): readonly Part[] {
	const parts = leavesOf(policy).map(partOf)
	const retries = parts.filter((part) => part.kind === 'retry')
	const asking = retries.map(({ settings }) => settings.nested).lastIndexOf('outermost')
	const first = retries.findIndex(({ settings }) => settings.nested === 'outermost')
	return parts.map((part) => {
		if (part.kind !== 'retry') return part
		const nth = retries.indexOf(part)
		const isLeftToOuter = nth > 0 && first >= 0 && nth >= first
		return { ...part, isLeftToOuter, isAskedTo: nth > 0 && nth < asking }
	})
}

/** In the place of a registry stands what one of its keys would have. */
const leavesOf = (policy: Policy): readonly Policy[] =>
	policy.leaves().flatMap((leaf) => (leaf instanceof Keyed ? leavesOf(leaf.sample()) : [leaf]))

function partOf(leaf: Policy): Part {
	const { name } = leaf
	const bound = seatOf(leaf)
	const layer = bound?.layer
	if (bound && layer instanceof RetryLayer) {
		const { settings } = layer
		return { kind: 'retry', name, settings, classify: bound.classify, isLeftToOuter: false, isAskedTo: false }
	}
	if (layer instanceof TimeoutLayer) return { kind: 'timeout', name, ms: layer.ms }
	if (layer instanceof BulkheadLayer) {
		const { settings, limit, onRelease } = layer
		return { kind: 'bulkhead', name, settings, maxConcurrent: onRelease ? undefined : limit }
	}
	if (layer instanceof CircuitBreakerLayer) return { kind: 'breaker', name, settings: layer.settings }
	if (layer instanceof HedgeLayer) return { kind: 'hedge', name, settings: layer.settings }
	if (layer instanceof RateLimiterLayer) return { kind: 'limiter', name, settings: layer.settings }
	if (layer instanceof FallbackLayer) {
		const { first, settings } = layer
		const alternatives = [first, ...(settings.orElse ?? [])]
		return { kind: 'fallback', name, alternatives, isChoosy: settings.when !== undefined }
	}
	return { kind: leaf instanceof AdaptiveThrottle ? 'throttle' : 'stranger', name }
}

/** A policy remembers where it was last seated, so it is seated where it is: to look at a policy must not change it. */
function seatOf(leaf: Policy): UnboundLayer | undefined {
	return leaf instanceof LeafPolicy ? leaf.layers(leaf['env'])[0] : undefined
}

/** How many of a hundred calls this budget lets be repeated, as a share, while all of them fail; undefined when that is not known. */
export function ratioOf(budget: Budget | undefined): number | undefined {
	if (budget instanceof RetryBudget) return budget.settings.maxRetryRatio
	// These are filled by successes.
	return budget instanceof TokenBudget || budget instanceof QuotaBudget ? 0 : undefined
}
