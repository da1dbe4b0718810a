/** What the client interceptors share: runs each call through the pipeline of its method. */
import type { Budget } from '../../core/budget/budget.ts'
import { createBudget } from '../../core/budget/retry-budget.ts'
import { TokenBudget, type TokenBudgetStats } from '../../core/budget/token-budget.ts'
import { Bulkhead, type BulkheadStats } from '../../core/bulkhead/bulkhead.ts'
import type { CircuitBreakerStats } from '../../core/circuit-breaker/circuit.ts'
import { Call, type Operation } from '../../core/engine/call.ts'
import type { Step } from '../../core/engine/layer.ts'
import { run } from '../../core/engine/runner.ts'
import type { FindingCode, LintFinding } from '../../core/lint/finding.ts'
import type { InspectableObservation } from '../../core/observe/inspection.ts'
import { observePipelines } from '../../core/observe/observed-members.ts'
import { subscribeTo } from '../../core/observe/subscribe.ts'
import { withOptionPath } from '../../core/options/option-path.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import { systemRuntime } from '../../core/runtime/system.ts'
import type { GrpcListener } from '../interceptor/grpc-interceptor.ts'
import { type MethodConfig, parsePath, type ServiceConfig } from '../service-config/service-config.ts'
import type { BufferLimit } from './kept-messages.ts'
import { MethodPipelines, type SharedPolicies } from './method-pipelines.ts'
import type { GrpcSettings } from './options.ts'
import { retryLimits } from './retry-limits.ts'
import { type GrpcMethod, type Rpc, rpcOf } from './rpc.ts'

/**
 * Totals, and the current state of the policies of a client. `stats` of a `ResilientInterceptor`, a
 * `ResilientConnectInterceptor` or a `ResilientNiceMiddleware` returns it.
 */
export interface GrpcClientStats {
	readonly calls: number
	/** Calls that ended with another status than OK. */
	readonly failures: number
	/** Attempts sent: first attempts, retries and hedged requests. */
	readonly attempts: number
	/** The size of the messages that are kept for retries. */
	readonly bufferedBytes: number
	/** By `circuitBreakerKey`; without it, under `''`. Empty without breakers. */
	readonly circuits: Readonly<Record<string, CircuitBreakerStats>>
	readonly bulkhead: BulkheadStats | undefined
	/** The tokens of `retryThrottling`. */
	readonly throttling: TokenBudgetStats | undefined
	/** Retries that the budget would allow now. */
	readonly retriesAvailable: number | undefined
}

export class GrpcEngine {
	readonly settings: GrpcSettings
	readonly runtime: Runtime
	readonly buffer: BufferLimit
	/** The methods by path, so that a call does not parse its path. */
	readonly #methods = new Map<string, GrpcMethod>()
	readonly #shared: SharedPolicies
	readonly #budget: Budget | undefined
	readonly #pipelines: MethodPipelines
	readonly #counts = { calls: 0, failures: 0, attempts: 0 }

	constructor(settings: GrpcSettings) {
		const { serviceConfig, bulkhead, name = 'grpc' } = settings
		this.settings = settings
		this.runtime = settings.runtime ?? systemRuntime
		this.buffer = { perCall: settings.maxBufferBytesPerCall, total: settings.maxBufferBytes, usedBytes: 0 }
		this.#budget = createBudget(settings.budget, this.runtime)
		const throttling = serviceConfig?.retryThrottling
		const tokens = throttling && new TokenBudget(throttling)
		this.#shared = {
			settings,
			bulkhead: bulkhead && withOptionPath('bulkhead', () => new Bulkhead({ name, ...bulkhead })),
			tokens,
			limits: retryLimits(tokens, this.#budget),
			facts: this,
		}
		this.#pipelines = new MethodPipelines(this.#shared)
		if (settings.onEvent) this.subscribe(settings.onEvent)
	}

	/** Returns the method of a path such as `/shop.v1.Orders/Get`. */
	methodOf(path: string): GrpcMethod {
		const known = this.#methods.get(path)
		if (known) return known
		const method = createMethod(path, this.settings.serviceConfig)
		if (this.#methods.size >= MAX_METHODS) this.#methods.clear()
		this.#methods.set(path, method)
		return method
	}

	/**
	 * Creates the call of an Rpc. `attempt` starts an attempt and returns a promise of its end. `findServer`
	 * returns the server that is called, as far as it is known before an attempt.
	 */
	createCall(rpc: Rpc, attempt: Operation, findServer: () => string): Call {
		const { target } = rpc
		const key = this.#breakerKeyOf(rpc, findServer)
		const entry = key ? this.#pipelines.acquire(key, this.runtime.now()) : undefined
		if (entry) {
			rpc.key = key
			rpc.releaseBreaker = () => this.#pipelines.release(entry, this.runtime.now())
		}
		this.#counts.calls++
		const call = new Call(this.#pipelines.find(entry, target.config).compiled, rpc, attempt)
		rpc.call = call
		return call
	}

	/** Runs a call until its last attempt has ended or a policy has rejected it. Then `end` must be called. */
	run(call: Call): Promise<unknown> {
		const runAround = call.pipeline.observer?.run
		const start = () => run(call, this.begin(call))
		return runAround ? runAround(call, start) : start()
	}

	/** Begins a call. One that is rejected ends here, with the events of any other call. */
	begin(call: Call): Step {
		const { rejection } = rpcOf(call)
		if (!rejection) return call.begin()
		const { observer, runtime } = call.pipeline
		call.startedAt = runtime.now()
		observer?.onBegin(call)
		return call.reject(rejection.error, rejection.stop)
	}

	/** Returns `''` for a call without a key of its own. */
	#breakerKeyOf(rpc: Rpc, findServer: () => string): string {
		const { circuitBreakerKey } = this.settings
		if (!circuitBreakerKey || rpc.rejection) return ''
		try {
			const { service, method } = rpc.target
			const target = {
				service,
				method,
				// A getter, because grpc-js needs another call to find the target.
				get target() {
					return findServer()
				},
			}
			return String(circuitBreakerKey(target))
		} catch (error) {
			rpc.rejection = { error, stop: 'hook-threw' }
			return ''
		}
	}

	/** Returns the number of the attempt. */
	countAttempt(): number {
		return ++this.#counts.attempts
	}

	get attempts(): number {
		return this.#counts.attempts
	}

	get countedDeadlineMs(): number {
		return this.settings.countedDeadlineMs
	}

	end(rpc: Rpc, ok: boolean): void {
		if (!ok) this.#counts.failures++
		rpc.releaseBreaker?.()
	}

	get stats(): GrpcClientStats {
		const { bulkhead, tokens } = this.#shared
		const circuits = [...this.#pipelines.groups()].flatMap(([key, { breaker }]) =>
			breaker ? [[key, breaker.stats] as const] : [],
		)
		return {
			...this.#counts,
			bufferedBytes: this.buffer.usedBytes,
			circuits: Object.fromEntries(circuits),
			bulkhead: bulkhead?.stats,
			throttling: tokens?.stats,
			retriesAvailable: this.#budget?.available(),
		}
	}

	subscribe(listener: GrpcListener): () => void {
		return observePipelines(this.#pipelines.observed, (pipeline) => subscribeTo(pipeline, listener))
	}

	observation(): InspectableObservation {
		return {
			kind: 'policy',
			identity: this,
			calls: (attach) => observePipelines(this.#pipelines.observed, attach),
			members: () => Array.from(this.#pipelines.all(), ([key, { policy }]) => [key, policy] as const),
			stats: () => this.stats,
			inspection: {
				name: this.settings.name ?? 'grpc',
				sample: () => {
					const config = this.#mostAttempts()
					return {
						policies: new MethodPipelines(this.#shared).find(undefined, config).policies,
						totalTimeoutMs: config?.timeoutMs ?? Infinity,
						timeoutMs: Infinity,
					}
				},
				adaptFinding: (finding) => {
					// The deadline also ends the wait in the queue, so the default queueTimeoutMs is not a mistake.
					const isDefaultWait = this.settings.bulkhead?.queueTimeoutMs === undefined
					return finding.code === 'wait-outlasts-timeout' && isDefaultWait ? undefined : adaptFinding(finding)
				},
			},
		}
	}

	/** `lint` shows one method: the one that may make the most attempts. */
	#mostAttempts(): MethodConfig | undefined {
		const configs = this.settings.serviceConfig?.methodConfigs.map(({ config }) => config) ?? []
		const attempts = (config: MethodConfig) => (config.retryPolicy ?? config.hedgingPolicy)?.maxAttempts ?? 1
		return configs.toSorted((a, b) => attempts(b) - attempts(a))[0]
	}
}

/** A generic client may create any number of paths. */
const MAX_METHODS = 1_000

function createMethod(path: string, serviceConfig: ServiceConfig | undefined): GrpcMethod {
	const { service, method } = parsePath(path)
	const config = serviceConfig?.find(service, method)
	const isRepeatable = config?.retryPolicy !== undefined || config?.hedgingPolicy !== undefined
	return { path, service, method, config, isRepeatable }
}

/** Ranges of core's own options. A6 limits attempts and jitter, and the config states the backoffs. */
const FOR_CORE = new Set<FindingCode>(['base-delay', 'max-delay', 'retry-count', 'jitter-factor'])

const FIXES: Partial<Record<FindingCode, string>> = {
	'no-timeout': 'Set timeout in the method config, or a deadline for each call.',
	'no-attempt-timeout':
		'Use a hedgingPolicy where a server may hang: gRPC has no timeout for a single attempt.',
	'wait-outlasts-timeout': 'Set queueTimeoutMs of the bulkhead below the timeout of the method config.',
}

/** Returns a finding of `lint` in the terms of a service config; undefined if it does not apply to gRPC. */
function adaptFinding(finding: LintFinding): LintFinding | undefined {
	const { code, fix } = finding
	return FOR_CORE.has(code) ? undefined : { ...finding, fix: FIXES[code] ?? fix }
}
