/**
 * The policies of one origin, compiled into one pipeline. The alternative, a `keyed` registry as a layer of a
 * common pipeline, would cost several lookups per request.
 */

import type { Budget } from '../../core/budget/budget.ts'
import { createBudget } from '../../core/budget/retry-budget.ts'
import { Bulkhead, type BulkheadStats } from '../../core/bulkhead/bulkhead.ts'
import type { BulkheadOptions } from '../../core/bulkhead/options.ts'
import type { CircuitBreakerStats } from '../../core/circuit-breaker/circuit.ts'
import type { CircuitBreaker } from '../../core/circuit-breaker/circuit-breaker.ts'
import { EmbeddedBreaker } from '../../core/circuit-breaker/embedded-breaker.ts'
import { type CircuitBreakerOptions, recoveringBreaker } from '../../core/circuit-breaker/options.ts'
import type { Classification, Classifier } from '../../core/classify/classification.ts'
import type { CompiledPipeline } from '../../core/engine/call.ts'
import { Pipeline } from '../../core/engine/pipeline.ts'
import { LeafPolicy, type Policy } from '../../core/engine/policy.ts'
import type { PolicyListener } from '../../core/events/events.ts'
import { Hedge } from '../../core/hedge/hedge.ts'
import type { Block } from '../../core/keyed/registry.ts'
import { blockOf } from '../../core/keyed/registry.ts'
import type { EventFilter, ObservedPipeline } from '../../core/observe/observation.ts'
import { listenExcept } from '../../core/observe/subscribe.ts'
import { withOptionPath } from '../../core/options/option-path.ts'
import { MAX_NUMBER } from '../../core/options/schema.ts'
import { Retry } from '../../core/retry/retry.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import type { HttpSettings } from '../options/http-options.ts'
import type { Origin } from '../origin/origin.ts'
import type { TimeoutLists } from '../request/attempt-aborts.ts'
import { AttemptLayer } from '../request/attempt-layer.ts'
import { drainBody } from '../request/drain-body.ts'
import { HttpStatusError } from '../request/status-error.ts'

/** The current state of one origin. */
export interface OriginStats {
	readonly circuit: CircuitBreakerStats | undefined
	readonly bulkhead: BulkheadStats | undefined
	/** Retries that the budget would allow now. */
	readonly retriesAvailable: number | undefined
	/** Remaining pause because of Retry-After or RateLimit headers; 0 if the origin as a whole is not paused. */
	readonly pausedForMs: number
	/** Requests that wait for the status and headers of their response. */
	readonly inFlight: number
}

class AttemptPolicy extends LeafPolicy {}

/** What the owner of an engine adds to the policies of an origin, or creates itself. */
export interface PolicySource {
	/** Creates policies around the policies of an origin. */
	outerPolicies?(): readonly Policy[]
	/** Creates the breaker of an origin, if programs have access to it. */
	createBreaker?(options: CircuitBreakerOptions): CircuitBreaker
}

export class OriginPipeline implements ObservedPipeline {
	readonly origin: Origin
	readonly breaker: CircuitBreaker | EmbeddedBreaker | undefined
	readonly policy: Policy
	readonly compiled: CompiledPipeline
	/** The policies between the total timeout and the attempt. */
	readonly policies: readonly Policy[]
	readonly #bulkhead: Bulkhead | undefined
	/** Policies of another pipeline, which listens to them already. */
	readonly #shared: readonly unknown[]
	readonly #budget: Budget | undefined

	/** With `base`, creates the pipeline of a breaker key, which shares the origin's budget and bulkhead. */
	constructor(
		origin: Origin,
		timeouts: TimeoutLists,
		source: PolicySource,
		key: string,
		base?: OriginPipeline,
	) {
		const { name, runtime, settings } = origin
		this.origin = origin
		const { circuitBreaker, bulkhead, hedge } = settings
		this.#budget = base ? base.#budget : createBudget(settings.budget, runtime)
		this.#bulkhead = base
			? base.#bulkhead
			: bulkhead && withOptionPath('bulkhead', () => new Bulkhead({ name, ...inTime(settings), ...bulkhead }))
		this.breaker =
			circuitBreaker &&
			withOptionPath('circuitBreaker', () => {
				const options = breakerOptions(key, circuitBreaker, settings)
				return source.createBreaker?.(options) ?? new EmbeddedBreaker(options)
			})
		this.#shared = [base && this.#bulkhead]
		const budget = this.#budget
		const policies = [
			this.#bulkhead,
			this.breaker,
			createRetry(settings, budget, runtime),
			hedge && withOptionPath('hedge', () => new Hedge({ budget, ...hedge })),
		]
		this.policies = policies.filter((policy) => policy !== undefined)
		const attempt = new AttemptPolicy('attempt', {}, new AttemptLayer(origin, timeouts))
		const classify = createClassifier(settings.classify)
		const options = { name: settings.name ?? 'http', runtime, classify }
		this.policy = new Pipeline(options, [...(source.outerPolicies?.() ?? []), ...this.policies, attempt])
		this.policy.setKey(key)
		this.compiled = this.policy.compiled()
	}

	/** Subscribes to the events of all policies that are not shared with another pipeline. */
	readonly listen = (listener: PolicyListener, filter?: EventFilter): (() => void) =>
		listenExcept(this.policy.leaves(), this.#shared, listener, filter)

	get stats(): OriginStats {
		return {
			circuit: this.breaker?.stats,
			bulkhead: this.#bulkhead?.stats,
			retriesAvailable: this.#budget?.available(),
			pausedForMs: Math.ceil(this.origin.pausedForMs),
			inFlight: this.origin.inFlight,
		}
	}
}

const MAX_QUEUE_MS = 30_000

/** A queued call is rejected while there is time for an attempt. Nothing else would reject it in time. */
const inTime = ({ timeout, totalTimeoutMs }: HttpSettings): BulkheadOptions => ({
	// The difference is NaN if there are no timeouts.
	queueTimeoutMs: Math.min(
		totalTimeoutMs - Math.min(timeout, totalTimeoutMs / 2) || MAX_QUEUE_MS,
		MAX_QUEUE_MS,
	),
})

/** A probe that takes longer has hung, even if an attempt has no timeout. */
const MAX_PROBE_MS = 300_000
const MIN_PROBE_MS = 10_000

/** The breaker's options: an open time that starts short and grows, and probes as long as an attempt. */
const breakerOptions = (
	name: string,
	given: CircuitBreakerOptions,
	{ timeout }: HttpSettings,
): CircuitBreakerOptions => ({
	name,
	...recoveringBreaker(given),
	probeTimeoutMs: given.probeTimeoutMs ?? Math.min(Math.max(timeout, MIN_PROBE_MS), MAX_PROBE_MS),
	classify: given.classify ?? ignoreUnavailability,
})

/** A Retry-After of a 5xx must not extend the open time: the next probe shows whether the server is back. */
const ignoreUnavailability: Classifier = (error, next) => {
	const classification = next(error)
	return error instanceof HttpStatusError && error.statusCode >= 500
		? { ...classification, retryAfterMs: undefined }
		: classification
}

/** An origin that is paused or whose circuit is open is not evicted: its calls would be sent again. */
export function originBlock({ breaker, origin }: OriginPipeline): Block {
	const block = breaker ? blockOf(breaker) : 0
	return block || (origin.isPaused ? 1 : 0)
}

function createRetry(
	{ backoff, shouldRetry, nested, onRetry }: HttpSettings,
	budget: Budget | undefined,
	runtime: Runtime,
): Retry {
	return new Retry({
		...backoff,
		shouldRetry,
		nested,
		budget,
		// HTTP applies its own `maxRetryAfterMs` and `longRetryAfter`.
		maxRetryAfterMs: MAX_NUMBER,
		onRetry(error, attempt, delayMs) {
			// The caller does not receive this response, and its connection is needed.
			if (error instanceof HttpStatusError) void drainBody(error.response, runtime)
			onRetry?.(error, attempt, delayMs)
		},
	})
}

/** Core's classification with the facts of a failed status; the user's classifier comes first. */
function createClassifier(custom: HttpSettings['classify']): Classifier {
	return (error, next) => {
		const withStatus = (failure: unknown) => classifyStatus(failure, next(failure))
		return custom ? custom(error, withStatus) : withStatus(error)
	}
}

function classifyStatus(error: unknown, classification: Classification): Classification {
	if (!(error instanceof HttpStatusError)) return classification
	const { statusCode } = error
	// Misdirected Request: another connection may reach the right server. Below 400 the content is invalid.
	const isTransient = statusCode === 421 || statusCode < 400
	const { waitMs: retryAfterMs, isInProgress } = HttpStatusError.factsOf(error)
	const kind = isInProgress ? 'throttled' : isTransient ? 'transient' : classification.kind
	return { kind, isKnown: true, retryAfterMs }
}
