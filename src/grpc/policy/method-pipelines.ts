/** The pipelines of an interceptor: one per breaker key and method config, created on first use. */
import type { Budget } from '../../core/budget/budget.ts'
import type { TokenBudget } from '../../core/budget/token-budget.ts'
import type { Bulkhead } from '../../core/bulkhead/bulkhead.ts'
import type { CircuitBreaker } from '../../core/circuit-breaker/circuit-breaker.ts'
import { recoveringBreaker } from '../../core/circuit-breaker/options.ts'
import type { Classifier } from '../../core/classify/classification.ts'
import type { CompiledPipeline } from '../../core/engine/call.ts'
import { Pipeline } from '../../core/engine/pipeline.ts'
import { LeafPolicy, type Policy } from '../../core/engine/policy.ts'
import type { PolicyListener } from '../../core/events/events.ts'
import { blockOf, type Entry, Registry } from '../../core/keyed/registry.ts'
import type { EventFilter, ObservedPipeline } from '../../core/observe/observation.ts'
import { ObservedMembers } from '../../core/observe/observed-members.ts'
import { listenExcept } from '../../core/observe/subscribe.ts'
import { withOptionPath } from '../../core/options/option-path.ts'
import type { MethodConfig } from '../service-config/service-config.ts'
import { classifyStatus, GrpcStatusError } from '../status/status-error.ts'
import { AttemptLayer } from './attempt-layer.ts'
import { type BreakerFacts, GrpcBreaker } from './grpc-breaker.ts'
import type { GrpcSettings } from './options.ts'
import { GrpcHedge, GrpcRetry } from './repeat-policies.ts'

/** A breaker without calls for this long is evicted. */
const IDLE_MS = 600_000

/** What the pipelines of an interceptor share. */
export interface SharedPolicies {
	readonly settings: GrpcSettings
	readonly bulkhead: Bulkhead | undefined
	/** The tokens of `retryThrottling`. */
	readonly tokens: TokenBudget | undefined
	readonly limits: Budget
	readonly facts: BreakerFacts
}

/** Longer than core's default: a probe may be a stream. */
const PROBE_TIMEOUT_MS = 30_000

/** The pipelines that share a breaker, by method config. */
export interface BreakerGroup {
	readonly breaker: CircuitBreaker | undefined
	readonly pipelines: Map<MethodConfig | undefined, MethodPipeline>
}

export class MethodPipelines {
	readonly #shared: SharedPolicies
	readonly #groups: Registry<BreakerGroup>
	/** The group of calls without a breaker key. Never evicted. */
	readonly #main: BreakerGroup
	readonly observed: ObservedMembers<MethodPipeline> = new ObservedMembers(() => this.#pipelines())

	constructor(shared: SharedPolicies) {
		this.#shared = shared
		this.#groups = new Registry(shared.settings.maxCircuitBreakers, IDLE_MS, {
			blockOf: ({ breaker }) => (breaker ? blockOf(breaker) : 0),
			limitName: 'maxCircuitBreakers',
		})
		this.#main = this.#createGroup('')
		// Validates the options of the policies. This pipeline reports the events of the bulkhead.
		this.find(undefined, undefined)
	}

	/** Keeps the group of a breaker key in use until `release`. */
	acquire(key: string, now: number): Entry<BreakerGroup> {
		return this.#groups.acquire(key, now, (name) => this.#createGroup(name))
	}

	release(entry: Entry<BreakerGroup>, now: number): void {
		this.#groups.release(entry, now)
	}

	/** Returns the pipeline of a method config, in the group of a breaker key or in the main one. */
	find(entry: Entry<BreakerGroup> | undefined, config: MethodConfig | undefined): MethodPipeline {
		const group = entry?.value ?? this.#main
		return group.pipelines.get(config) ?? this.#create(group, entry?.key, config)
	}

	/** Returns the groups by breaker key; `''` is the main one. */
	*groups(): Iterable<readonly [key: string, group: BreakerGroup]> {
		yield ['', this.#main]
		for (const { key, value } of this.#groups.entries()) yield [key, value]
	}

	*all(): Iterable<readonly [key: string, pipeline: MethodPipeline]> {
		for (const [key, { pipelines }] of this.groups())
			for (const pipeline of pipelines.values()) yield [key, pipeline]
	}

	*#pipelines(): Iterable<MethodPipeline> {
		for (const [, pipeline] of this.all()) yield pipeline
	}

	#createGroup(key: string): BreakerGroup {
		const { settings, facts } = this.#shared
		const { circuitBreaker, name = 'grpc' } = settings
		if (!circuitBreaker) return { breaker: undefined, pipelines: new Map() }
		const { probeTimeoutMs = PROBE_TIMEOUT_MS } = circuitBreaker
		const options = { name: key || name, ...recoveringBreaker(circuitBreaker), probeTimeoutMs }
		const breaker = withOptionPath('circuitBreaker', () => new GrpcBreaker(options, facts))
		return { breaker, pipelines: new Map() }
	}

	#create(group: BreakerGroup, key: string | undefined, config: MethodConfig | undefined): MethodPipeline {
		const { breaker, pipelines } = group
		const isFirstOfGroup = pipelines.size === 0
		const isFirst = isFirstOfGroup && group === this.#main
		const reported = [isFirst ? undefined : this.#shared.bulkhead, isFirstOfGroup ? undefined : breaker]
		const { settings, bulkhead, tokens, limits } = this.#shared
		const { retryPolicy, hedgingPolicy } = config ?? {}
		const policies = [
			bulkhead,
			breaker,
			retryPolicy && new GrpcRetry(retryPolicy, limits, settings.onRetry),
			hedgingPolicy && new GrpcHedge(hedgingPolicy, limits),
		].filter((policy) => policy !== undefined)
		const counted = retryPolicy?.retryableStatusCodes ?? hedgingPolicy?.nonFatalStatusCodes
		const pipeline = new MethodPipeline(settings, policies, new AttemptLayer(tokens, counted), reported)
		if (key !== undefined && isFirstOfGroup) breaker?.setKey(key)
		pipelines.set(config, pipeline)
		this.observed.add(pipeline)
		return pipeline
	}
}

class AttemptPolicy extends LeafPolicy {
	constructor(layer: AttemptLayer) {
		super('attempt', {}, layer)
	}
}

/** The pipeline of the methods that share a method config and a circuit breaker. */
export class MethodPipeline implements ObservedPipeline {
	readonly policy: Policy
	readonly compiled: CompiledPipeline
	/** The policies around the attempt. */
	readonly policies: readonly Policy[]
	/** Policies whose events another pipeline reports already. */
	readonly #reported: readonly unknown[]

	constructor(
		settings: GrpcSettings,
		policies: readonly Policy[],
		attemptLayer: AttemptLayer,
		reported: readonly (Policy | undefined)[],
	) {
		this.policies = policies
		const { name = 'grpc', runtime } = settings
		const options = { name, runtime, classify: createClassifier(settings.classify) }
		this.policy = new Pipeline(options, [...policies, new AttemptPolicy(attemptLayer)])
		this.compiled = this.policy.compiled()
		this.#reported = reported
	}

	readonly listen = (listener: PolicyListener, filter?: EventFilter): (() => void) =>
		listenExcept(this.policy.leaves(), this.#reported, listener, filter)
}

/** Core's classification of the status; the user's classifier comes first. */
function createClassifier(custom: GrpcSettings['classify']): Classifier {
	return (error, next) => {
		const withStatus = (failure: unknown) =>
			failure instanceof GrpcStatusError ? classifyStatus(failure) : next(failure)
		return custom ? custom(error, withStatus) : withStatus(error)
	}
}
