import type { StatusCode } from '../status/status.ts'

/** When and how often a failed attempt is retried. */
export interface GrpcRetryPolicy {
	/** The first attempt included, at most the cap. */
	readonly maxAttempts: number
	readonly initialBackoffMs: number
	readonly maxBackoffMs: number
	readonly backoffMultiplier: number
	readonly retryableStatusCodes: ReadonlySet<StatusCode>
}

/** When further requests are sent while the first one is in flight. */
export interface GrpcHedgingPolicy {
	/** The first attempt included, at most the cap. */
	readonly maxAttempts: number
	/** 0: all requests are sent immediately. */
	readonly hedgingDelayMs: number
	readonly nonFatalStatusCodes: ReadonlySet<StatusCode>
}

/** The settings of one method, which `config.find(service, method)` of a `ServiceConfig` returns. */
export interface MethodConfig {
	/** Undefined without a timeout. */
	readonly timeoutMs: number | undefined
	readonly waitForReady: boolean | undefined
	readonly maxRequestMessageBytes: number | undefined
	readonly maxResponseMessageBytes: number | undefined
	readonly retryPolicy: GrpcRetryPolicy | undefined
	readonly hedgingPolicy: GrpcHedgingPolicy | undefined
}

/** Limits retries and hedged requests of a whole channel. */
export interface RetryThrottling {
	/** An integer from 1 to 1,000. */
	readonly maxTokens: number
	/** Truncated to three decimals. At most 1,000: a higher ratio has the same effect. */
	readonly tokenRatio: number
}

/** What a method config applies to: a method, a service (empty `method`), or all methods (both are empty). */
export interface MethodName {
	readonly service: string
	readonly method: string
}

/** Returns the service and the method of a path such as `/shop.Users/Get`. */
export function parsePath(path: string): MethodName {
	const slash = path.lastIndexOf('/')
	return {
		service: path.slice(path.startsWith('/') ? 1 : 0, Math.max(0, slash)),
		method: path.slice(slash + 1),
	}
}

/** An entry of `methodConfig`. */
export interface MethodConfigEntry {
	/** Empty for an entry that applies to no method. */
	readonly names: readonly MethodName[]
	readonly config: MethodConfig
}

/** Method configs by service, then by method. An empty name is the default. */
export type MethodIndex = ReadonlyMap<string, ReadonlyMap<string, MethodConfig>>

interface ParsedParts extends Pick<ServiceConfig, 'json' | 'retryThrottling' | 'methodConfigs'> {
	readonly index: MethodIndex
}

/**
 * A validated service config. `parseServiceConfig` creates it; pass it as `serviceConfig` to
 * `resilientInterceptor`, and to `resilientChannelOptions`. It does not change.
 *
 * @example
 * const config = parseServiceConfig(json)
 * config.find('shop.v1.Orders', 'Get')?.timeoutMs
 */
export class ServiceConfig {
	/** Undefined if retries are not throttled. */
	readonly retryThrottling: RetryThrottling | undefined
	/** The entries in the order of the JSON. */
	readonly methodConfigs: readonly MethodConfigEntry[]
	/** The service config as JSON, with the fields that Yaoki does not use, such as `loadBalancingConfig`. */
	readonly json: object
	readonly #index: MethodIndex
	readonly #default: MethodConfig | undefined

	private constructor({ json, retryThrottling, methodConfigs, index }: ParsedParts) {
		this.json = json
		this.retryThrottling = retryThrottling
		this.methodConfigs = methodConfigs
		this.#index = index
		this.#default = index.get('')?.get('')
		Object.freeze(this)
	}

	/** @internal */
	static create(parts: ParsedParts): ServiceConfig {
		return new ServiceConfig(parts)
	}

	/**
	 * Returns the settings of a method: those for the method, else those for its service, else those for all
	 * methods. Undefined if the config has none of them.
	 */
	find(service: string, method: string): MethodConfig | undefined {
		const methods = this.#index.get(service)
		return methods?.get(method) ?? methods?.get('') ?? this.#default
	}
}
