/**
 * The policies of one origin. They stand in one ready-made pipeline for each origin; a registry as a layer of a common pipeline would be asked
 * several times for every request.
 */
import type { Budget } from '../../core/budget/budget.ts'
import { RetryBudget, type RetryBudgetOptions } from '../../core/budget/retry-budget.ts'
import { Bulkhead } from '../../core/bulkhead/bulkhead.ts'
import { CircuitBreaker } from '../../core/circuit-breaker/circuit-breaker.ts'
import type { Classifier } from '../../core/classify/classification.ts'
import type { CompiledPipeline } from '../../core/engine/call.ts'
import { pipeline } from '../../core/engine/pipeline.ts'
import { LeafPolicy, type Policy } from '../../core/engine/policy.ts'
import { Hedge } from '../../core/hedge/hedge.ts'
import { Retry } from '../../core/retry/retry.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import type { HttpSettings } from '../options/http-options.ts'
import { placed } from '../options/option-path.ts'
import { Origin } from '../origin/origin.ts'
import { AttemptLayer } from '../request/attempt-layer.ts'
import type { TimeoutLists } from '../request/attempt-timeouts.ts'
import { drainBody } from '../request/drain-body.ts'
import { HttpStatusError } from '../request/status-error.ts'

/** The innermost policy, as one that can be listened to. */
class Attempts extends LeafPolicy {
	constructor(layer: AttemptLayer) {
		super('attempt', {}, layer)
	}
}

export class OriginPipeline {
	readonly origin: Origin
	readonly breaker: CircuitBreaker | undefined
	readonly bulkhead: Bulkhead | undefined
	readonly budget: Budget | undefined
	readonly plan: CompiledPipeline
	readonly #settings: HttpSettings
	readonly #runtime: Runtime

	constructor(
		name: string,
		settings: HttpSettings,
		runtime: Runtime,
		limits: TimeoutLists,
		around: readonly Policy[],
	) {
		this.origin = new Origin(name, settings, runtime)
		this.#settings = settings
		this.#runtime = runtime
		const { circuitBreaker, bulkhead, hedge, onEvent } = settings
		this.budget = budgetOf(settings.budget, runtime)
		this.bulkhead = bulkhead && placed('bulkhead.', () => new Bulkhead({ name, ...bulkhead }))
		this.breaker =
			circuitBreaker && placed('circuitBreaker.', () => new CircuitBreaker({ name, ...circuitBreaker }))
		const policies = [
			...around,
			this.bulkhead,
			this.breaker,
			this.#retry(),
			hedge && placed('hedge.', () => new Hedge({ budget: this.budget, ...hedge })),
			new Attempts(new AttemptLayer(this.origin, limits)),
		].filter((policy) => policy !== undefined)
		const policy = pipeline({ name: settings.name ?? 'http', runtime, classify: this.#classify }, ...policies)
		if (onEvent) policy.subscribe(onEvent)
		this.plan = policy.compiled()
	}

	#retry(): Retry {
		const settings = this.#settings
		const { onRetry } = settings
		return new Retry({
			baseDelayMs: settings.baseDelayMs,
			maxDelayMs: settings.maxDelayMs,
			growth: settings.growth,
			factor: settings.factor,
			jitterStrategy: settings.jitterStrategy,
			jitterFactor: settings.jitterFactor,
			jitterRangeMs: settings.jitterRangeMs,
			maxRetries: settings.maxRetries,
			maxElapsedMs: settings.maxElapsedMs === Infinity ? undefined : settings.maxElapsedMs,
			shouldRetry: settings.shouldRetry,
			nested: settings.nested,
			budget: this.budget,
			onRetry: (error, attempt, delayMs) => {
				// The answer will not be seen by anybody, and its connection is needed.
				if (error instanceof HttpStatusError) void drainBody(error.response, this.#runtime)
				onRetry?.(error, attempt, delayMs)
			},
		})
	}

	readonly #classify: Classifier = (error, next) => {
		const { classify } = this.#settings
		const known = (failure: unknown) => {
			const verdict = next(failure)
			return failure instanceof HttpStatusError ? forStatus(failure, verdict) : verdict
		}
		return classify ? classify(error, known) : known(error)
	}
}

function forStatus(failure: HttpStatusError, verdict: ReturnType<Classifier>): ReturnType<Classifier> {
	// It was sent to the wrong server, and the right one may be reached by another connection.
	if (failure.statusCode === 421) return { kind: 'transient', isKnown: true }
	const { waitMs: retryAfterMs, isInProgress } = failure
	if (retryAfterMs === undefined && !isInProgress) return verdict
	return { kind: isInProgress ? 'throttled' : verdict.kind, isKnown: true, retryAfterMs }
}

function budgetOf(given: Budget | RetryBudgetOptions | undefined, runtime: Runtime): Budget | undefined {
	if (!given) return undefined
	return isBudget(given) ? given : placed('budget.', () => new RetryBudget({ runtime, ...given }))
}

const isBudget = (given: Budget | RetryBudgetOptions): given is Budget =>
	typeof (given as Budget).canRetry === 'function'
