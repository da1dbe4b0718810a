/** The options that the client interceptors for grpc-js and Connect share. */
import type { Budget } from '../../core/budget/budget.ts'
import type { RetryBudgetOptions } from '../../core/budget/retry-budget.ts'
import type { BulkheadOptions } from '../../core/bulkhead/options.ts'
import type { CircuitBreakerOptions } from '../../core/circuit-breaker/options.ts'
import type { CallOptions } from '../../core/engine/call-options.ts'
import { POLICY_SCHEMA, type PolicyOptions, readPolicyOptions } from '../../core/engine/policy-options.ts'
import type { Hook } from '../../core/options/hooks.ts'
import { invalidOption, MAX_NUMBER, type OptionSchema, readSwitchable } from '../../core/options/schema.ts'
import { storage } from '../../node/storage.ts'
import type { GrpcListener } from '../interceptor/grpc-interceptor.ts'
import type { MethodName, ServiceConfig } from '../service-config/service-config.ts'
import type { GrpcStatusError } from '../status/status-error.ts'

/**
 * Options of `resilientInterceptor`, `resilientConnectInterceptor` and `resilientNiceMiddleware`. Create one
 * interceptor per server: its calls share these policies.
 */
export interface GrpcClientOptions extends PolicyOptions {
	/** Timeouts, retries, hedging and throttling of each method: `parseServiceConfig(json)`. Default: none. */
	readonly serviceConfig?: ServiceConfig | undefined
	/**
	 * Circuit breaker. Default: on, with the breaker's defaults, but open for about 1 s at first and at most 2
	 * s (`resetBackoff: false`: 30 s), two concurrent probes, and a `probeTimeoutMs` of 30,000. False: none.
	 */
	readonly circuitBreaker?: CircuitBreakerOptions | boolean | undefined
	/**
	 * Returns the key of the breaker of a method, such as the name of its service: methods that fail then do
	 * not block the others. With `target`, clients of several servers can share an interceptor. Default: one
	 * breaker for all methods.
	 */
	readonly circuitBreakerKey?: ((method: BreakerTarget) => string) | undefined
	/**
	 * A deadline of the caller that has passed counts for the breaker only if it was at least this long,
	 * because no server could meet a shorter one. For methods with a timeout in the service config it is that
	 * timeout instead. In milliseconds. Default 1,000.
	 */
	readonly countedDeadlineMs?: number | undefined
	/** The maximum number of breakers. Default 1,000. */
	readonly maxCircuitBreakers?: number | undefined
	/** Bulkhead for all calls, streams included. Default: none. */
	readonly bulkhead?: BulkheadOptions | boolean | undefined
	/** Limits retries and hedged requests, besides `retryThrottling` of the service config. Default: none. */
	readonly budget?: Budget | RetryBudgetOptions | boolean | undefined
	/**
	 * Messages of a call up to this size are kept for retries. Larger ones commit the call to its current
	 * attempt. Default 1 MiB.
	 */
	readonly maxBufferBytesPerCall?: number | undefined
	/** The same for all calls together. Default 16 MiB. */
	readonly maxBufferBytes?: number | undefined
	/**
	 * Returns the call or request in which a call is made. The call inherits its deadline and its signal.
	 * Default: `currentContext` of `yaoki/node`.
	 */
	readonly getContext?: (() => CallOptions | undefined) | undefined
	/** Called before each wait. `attempt` counts from 1. */
	readonly onRetry?: Hook<[error: GrpcStatusError, attempt: number, delayMs: number], void> | undefined
	/** Called with every event: the same as `subscribe`. */
	readonly onEvent?: GrpcListener | undefined
}

/** What `circuitBreakerKey` can distinguish. */
interface BreakerTarget extends MethodName {
	/**
	 * The target of the channel, such as `dns:users.example.com:443`; with Connect the origin, such as
	 * `https://users.example.com`.
	 */
	readonly target: string
}

type Defaulted =
	| 'countedDeadlineMs'
	| 'maxCircuitBreakers'
	| 'maxBufferBytesPerCall'
	| 'maxBufferBytes'
	| 'getContext'
type Policies = 'circuitBreaker' | 'bulkhead' | 'budget'

/** The validated options with defaults. */
export interface GrpcSettings
	extends Omit<GrpcClientOptions, Defaulted | Policies>,
		Readonly<{ [name in Defaulted]: NonNullable<GrpcClientOptions[name]> }>,
		Readonly<{ [name in Policies]: Exclude<GrpcClientOptions[name], boolean> }> {}

const MIB = 1_048_576

const GRPC_SCHEMA: OptionSchema = {
	serviceConfig: 'any',
	circuitBreaker: 'any',
	circuitBreakerKey: 'function',
	countedDeadlineMs: [0, MAX_NUMBER, 1_000],
	maxCircuitBreakers: [1, MAX_NUMBER, 1_000, 'integer'],
	bulkhead: 'any',
	budget: 'any',
	maxBufferBytesPerCall: [0, MAX_NUMBER, MIB],
	maxBufferBytes: [0, MAX_NUMBER, 16 * MIB],
	getContext: 'function',
	onRetry: 'function',
	onEvent: 'function',
	...POLICY_SCHEMA,
}

const currentContext = (): CallOptions | undefined => storage.getStore()

/** Validates the options. Breaker and bulkhead validate their own. `owner` is named in errors. */
export function readGrpcOptions(options: GrpcClientOptions, owner: string): GrpcSettings {
	const settings = readPolicyOptions<GrpcSettings>(options, owner, GRPC_SCHEMA)
	const { serviceConfig } = settings
	if (serviceConfig !== undefined && typeof Object(serviceConfig).find !== 'function')
		invalidOption('serviceConfig', serviceConfig, 'a ServiceConfig: parseServiceConfig(json)')
	return {
		...settings,
		getContext: settings.getContext ?? currentContext,
		circuitBreaker: readSwitchable('circuitBreaker', options.circuitBreaker, {}),
		bulkhead: readSwitchable('bulkhead', options.bulkhead, undefined),
		budget: readSwitchable<Budget | RetryBudgetOptions>('budget', options.budget, undefined),
	}
}
