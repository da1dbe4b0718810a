import { type BackoffOptions, readBackoff } from '../../core/backoff/options.ts'
import type { Policy } from '../../core/engine/policy.ts'
import { defaultTotalMs, type HttpSettings, sumMaxDelays } from '../../http/options/http-options.ts'
import type { SharedByRoutes } from '../../http/options/http-service-config.ts'
import { backoffOptions } from '../policy/a6-options.ts'
import { RetryLimits } from '../policy/throttle.ts'
import type { MethodConfig } from '../service-config/service-config.ts'
import { type OriginTokens, OutcomePolicy } from './outcomes.ts'
import { HttpHedge, HttpRetry, type IsListed } from './repeat-policies.ts'
import { statusCodesOf } from './status-codes.ts'

const NO_RETRIES: BackoffOptions = { maxRetries: 0 }

/** The requests that an entry applies to. Without an entry, requests are not retried. */
export class Route {
	readonly #config: Partial<MethodConfig>
	readonly #tokens: OriginTokens
	readonly #backoff: BackoffOptions
	/** True for failures that are retried, or that do not end a hedged call. */
	readonly #isListed: IsListed
	readonly #settings = new WeakMap<HttpSettings, HttpSettings>()

	constructor(config: Partial<MethodConfig> = {}, tokens: OriginTokens) {
		const { retryPolicy, hedgingPolicy } = config
		const codes = retryPolicy?.retryableStatusCodes ?? hedgingPolicy?.nonFatalStatusCodes
		this.#config = config
		this.#tokens = tokens
		this.#backoff = retryPolicy ? backoffOptions(retryPolicy) : NO_RETRIES
		this.#isListed = (error) => statusCodesOf(error).some((code) => codes?.has(code))
	}

	/** Returns the client's settings with those of the entry. */
	settingsFrom(client: HttpSettings): HttpSettings {
		const known = this.#settings.get(client)
		if (known) return known
		const created = this.#createSettings(client)
		this.#settings.set(client, created)
		return created
	}

	/**
	 * Of the timeouts of the config and of the client the shorter one applies, as in gRPC. gRPC has no timeout per attempt, so the default of
	 * `timeout` does not apply where the config has a timeout.
	 */
	#createSettings(client: HttpSettings): HttpSettings {
		const { timeoutMs, retryPolicy, hedgingPolicy } = this.#config
		const backoff = readBackoff(this.#backoff)
		const hasTimeout = timeoutMs !== undefined
		const isTotalGiven = hasTimeout || client.isTotalGiven
		const timeout = hasTimeout && !client.isTimeoutGiven ? Infinity : client.timeout
		const settings: HttpSettings = {
			...client,
			maxRetries: backoff.maxRetries,
			maxDelaysMs: sumMaxDelays(backoff),
			maxElapsedMs: Infinity,
			timeout,
			isTotalGiven,
			// The policies of the route decide. What HTTP forbids apart from that is examined for every failure.
			shouldRetry: () => true,
			idempotent: retryPolicy ? () => true : client.idempotent,
			hedgesAll: hedgingPolicy !== undefined,
			createPolicies: (shared) => this.#createPolicies(shared),
		}
		const totalTimeoutMs = isTotalGiven
			? Math.min(timeoutMs ?? Infinity, client.isTotalGiven ? client.totalTimeoutMs : Infinity)
			: defaultTotalMs(timeout, settings)
		return { ...settings, totalTimeoutMs }
	}

	#createPolicies({ origin, budget, onRetry }: SharedByRoutes): readonly Policy[] {
		const { hedgingPolicy } = this.#config
		const isListed = this.#isListed
		const tokens = this.#tokens.of(origin)
		const limits = new RetryLimits(tokens, budget)
		return [
			new HttpRetry({ ...this.#backoff, budget: limits, onRetry }, isListed),
			hedgingPolicy && new HttpHedge(hedgingPolicy, limits, isListed),
			tokens && new OutcomePolicy(tokens, isListed),
		].filter((policy) => policy !== undefined)
	}
}
