/**
 * Describes the policies of a pipeline for lint, outermost first. Policies are recognized by their class or
 * the class of their layer, not by a field that each would carry, so that programs without lint do not pay.
 */
import type { BackoffOptions } from '../backoff/options.ts'
import type { Budget } from '../budget/budget.ts'
import { RetryBudget } from '../budget/retry-budget.ts'
import { TokenBudget } from '../budget/token-budget.ts'
import { BulkheadLayer } from '../bulkhead/layer.ts'
import type { BulkheadOptions, QueueSettings } from '../bulkhead/options.ts'
import { CircuitBreakerLayer } from '../circuit-breaker/layer.ts'
import type { CircuitBreakerSettings } from '../circuit-breaker/options.ts'
import type { Classification } from '../classify/classification.ts'
import type { UnboundLayer } from '../engine/compile.ts'
import { LeafPolicy, type Policy } from '../engine/policy.ts'
import { FallbackLayer } from '../fallback/fallback.ts'
import { HedgeLayer } from '../hedge/layer.ts'
import type { HedgeSettings } from '../hedge/options.ts'
import { Keyed } from '../keyed/keyed.ts'
import { RateLimiterLayer } from '../rate-limiter/layer.ts'
import type { RateLimiterSettings } from '../rate-limiter/options.ts'
import { RetryLayer } from '../retry/layer.ts'
import type { RetrySettings } from '../retry/options.ts'
import { AdaptiveThrottle } from '../throttle/adaptive-throttle.ts'
import { TimeoutLayer } from '../timeout/layer.ts'

interface Info<Kind extends string> {
	readonly kind: Kind
	readonly name: string
}

export interface RetryInfo extends Info<'retry'> {
	readonly settings: RetrySettings
	/** The options as the user passed them. */
	readonly given: BackoffOptions
	readonly classify: (error: unknown) => Classification
	/** True if it leaves every failure to a retry further out. */
	readonly alwaysDefers: boolean
	/** True if an inner retry leaves retrying to the outermost one. */
	readonly sometimesDefers: boolean
}

interface BulkheadInfo extends Info<'bulkhead'> {
	readonly settings: QueueSettings
	/** Undefined for an adaptive bulkhead. */
	readonly maxConcurrent: number | undefined
	/** The queue length that the user chose; undefined for the default. */
	readonly givenQueue: number | undefined
}

export interface FallbackInfo extends Info<'fallback'> {
	readonly alternatives: readonly unknown[]
	/** True if its `when` option lets some errors pass. */
	readonly isConditional: boolean
}

export type BreakerInfo = Info<'breaker'> & { readonly settings: CircuitBreakerSettings }
export type TimeoutInfo = Info<'timeout'> & { readonly ms: number }

export type PolicyInfo =
	| RetryInfo
	| BulkheadInfo
	| BreakerInfo
	| FallbackInfo
	| TimeoutInfo
	| (Info<'hedge'> & { readonly settings: HedgeSettings })
	| (Info<'rate-limiter'> & { readonly settings: RateLimiterSettings })
	/** `unknown`: a policy that lint does not know, which may do anything. */
	| Info<'throttle' | 'unknown'>

export function parsePipeline(policy: Policy<unknown>): readonly PolicyInfo[] {
	const policies = listLeaves(policy).map(describePolicy)
	const retries = policies.filter((info) => info.kind === 'retry')
	const isOutermost = ({ settings }: RetryInfo): boolean => settings.nested === 'outermost'
	const first = retries.findIndex(isOutermost)
	const last = retries.findLastIndex(isOutermost)
	return policies.map((info) => {
		if (info.kind !== 'retry') return info
		const index = retries.indexOf(info)
		const alwaysDefers = index > 0 && first >= 0 && index >= first
		return { ...info, alwaysDefers, sometimesDefers: index > 0 && index < last }
	})
}

/** A `keyed` policy is replaced by the policy that one of its keys would get. */
const listLeaves = (policy: Policy<unknown>): readonly Policy<unknown>[] =>
	policy.leaves().flatMap((leaf) => (leaf instanceof Keyed ? listLeaves(leaf.sample()) : [leaf]))

function describePolicy(leaf: Policy<unknown>): PolicyInfo {
	const { name } = leaf
	const bound = getLayer(leaf)
	const layer = bound?.layer
	if (bound && layer instanceof RetryLayer) {
		const facts = {
			settings: layer.settings,
			given: leaf['options'] as BackoffOptions,
			classify: bound.classify,
		}
		return { kind: 'retry', name, ...facts, alwaysDefers: false, sometimesDefers: false }
	}
	if (layer instanceof TimeoutLayer) return { kind: 'timeout', name, ms: layer.ms }
	if (layer instanceof BulkheadLayer) {
		const { settings, limit, onRelease } = layer
		const { maxQueue: givenQueue } = leaf['options'] as BulkheadOptions
		return { kind: 'bulkhead', name, settings, maxConcurrent: onRelease ? undefined : limit, givenQueue }
	}
	if (layer instanceof CircuitBreakerLayer) return { kind: 'breaker', name, settings: layer.settings }
	if (layer instanceof HedgeLayer) return { kind: 'hedge', name, settings: layer.settings }
	if (layer instanceof RateLimiterLayer) return { kind: 'rate-limiter', name, settings: layer.settings }
	if (layer instanceof FallbackLayer) {
		const { first, settings } = layer
		const alternatives = [first, ...(settings.orElse ?? [])]
		return { kind: 'fallback', name, alternatives, isConditional: settings.when !== undefined }
	}
	return { kind: leaf instanceof AdaptiveThrottle ? 'throttle' : 'unknown', name }
}

/** Binds the layer to the environment that the policy has: another one would change the policy. */
function getLayer(leaf: Policy<unknown>): UnboundLayer | undefined {
	return leaf instanceof LeafPolicy ? leaf.layers(leaf['env'])[0] : undefined
}

/** Returns the retries per call that the budget allows while all calls fail, if that is known. */
export function getRetryRatio(budget: Budget | undefined): number | undefined {
	if (budget instanceof RetryBudget) return budget.settings.maxRetryRatio
	// Only successes refill it.
	return budget instanceof TokenBudget ? 0 : undefined
}
