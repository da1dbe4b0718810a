/** Sends requests of `resilientFetch`, the client and the adapters through the pipeline of their origin. */

import { breakerLayerOf, endOpenTime } from '../../core/circuit-breaker/embedded-breaker.ts'
import type { CircuitBreakerLayer } from '../../core/circuit-breaker/layer.ts'
import { Call } from '../../core/engine/call.ts'
import { run } from '../../core/engine/runner.ts'
import type { PolicyListener } from '../../core/events/events.ts'
import { copyRecord } from '../../core/explain/record.ts'
import { type Entry, Registry } from '../../core/keyed/registry.ts'
import type { InspectableObservation, Inspection } from '../../core/observe/inspection.ts'
import { ObservedMembers, observePipelines } from '../../core/observe/observed-members.ts'
import { subscribeTo } from '../../core/observe/subscribe.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import { systemRuntime } from '../../core/runtime/system.ts'
import { CREDENTIAL_HEADERS, requestHeader } from '../headers/request-headers.ts'
import type { HttpSettings } from '../options/http-options.ts'
import { principalOf, routeOf } from '../options/request-hooks.ts'
import type { RequestOptions } from '../options/request-options.ts'
import { Origin, type OriginOwner, Pauses } from '../origin/origin.ts'
import { OriginParser, originOf } from '../origin/origin-parser.ts'
import { TimeoutLists } from '../request/attempt-aborts.ts'
import { attributeResponse } from '../request/attempt-body.ts'
import { RequestPlan } from '../request/request-plan.ts'
import { RequestRun } from '../request/request-run.ts'
import { stopHint, withHint } from '../request/retry-safety.ts'
import { HttpStatusError } from '../request/status-error.ts'
import { listenOnline } from '../transport/browser.ts'
import type { PreparedRequest } from '../transport/request.ts'
import type { HttpResponse } from '../transport/response.ts'
import { OriginPipeline, type OriginStats, originBlock, type PolicySource } from './origin-pipeline.ts'

/** An origin without requests for this long is evicted. */
const IDLE_MS = 600_000

/** Totals, and the current state of each origin. */
export interface RequestStats {
	/** Logical requests. */
	readonly requests: number
	/** Requests that ended with an error or a status of 400 or more. */
	readonly failures: number
	/** Attempts sent: first attempts, retries and hedges. */
	readonly attempts: number
	/** Keyed by origin and, with `circuitBreakerKey`, also by `origin key`. */
	readonly origins: Readonly<Record<string, OriginStats>>
}

export interface EngineOptions extends PolicySource {
	/** True if every status other than 2xx is a failure, also an unfollowed redirect. Default: from 400. */
	readonly requiresOk?: boolean
	/** Handles the final failed status: returns a response or throws. Default: throws the error. */
	onFailedStatus?(error: HttpStatusError, call: Call): HttpResponse | Promise<HttpResponse>
	/** Returns true for URL schemes that can be requested, such as `'https:'`. Default: all. */
	isAllowedScheme?(scheme: string): boolean
}

export class HttpEngine implements OriginOwner {
	readonly settings: HttpSettings
	readonly runtime: Runtime
	readonly #counts = { requests: 0, failures: 0, attempts: 0 }
	readonly #origins: Registry<OriginPipeline>
	readonly #parser: OriginParser
	readonly #create: (key: string, base?: OriginPipeline) => OriginPipeline
	/** The pauses by origin and principal. No eviction rule: its warning would print credentials. */
	readonly #pauses: Registry<Pauses>
	readonly #options: EngineOptions
	/** True while the engine waits for an `online` event. */
	#isWatching = false
	readonly #observed = new ObservedMembers(() => [...this.#origins.entries()].map(({ value }) => value))

	constructor(settings: HttpSettings, options: EngineOptions = {}) {
		this.settings = settings
		this.#options = options
		this.#parser = new OriginParser(options.isAllowedScheme)
		this.runtime = settings.runtime ?? systemRuntime
		this.#origins = new Registry(settings.maxOrigins, IDLE_MS, {
			blockOf: originBlock,
			limitName: 'maxOrigins',
		})
		const timeouts = new TimeoutLists()
		this.#pauses = new Registry(settings.maxOrigins, IDLE_MS)
		this.#create = (key, base) => {
			const origin = base?.origin ?? new Origin(key, settings, this.runtime, this)
			const pipeline = new OriginPipeline(origin, timeouts, options, key, base)
			this.#observed.add(pipeline)
			return pipeline
		}
		// Validates the options of the policies now instead of with the first request.
		this.#create('sample')
		if (settings.onEvent) this.subscribe(settings.onEvent)
	}

	/** A browser may notice late that it is offline, so each failure without a response counts. */
	watchConnection(): void {
		this.#isWatching ||= listenOnline(this)
	}

	/** The device is online again: circuits that opened in the meantime say nothing about their servers. */
	onOnline(): void {
		this.#isWatching = false
		for (const { value } of this.#origins.entries()) endOpenTime(value.breaker)
	}

	get stats(): RequestStats {
		const origins = [...this.#origins.entries()].map(({ key, value }) => [key, value.stats])
		return { ...this.#counts, origins: Object.fromEntries(origins) }
	}

	/** Subscribes to the events of all origins, later ones included. Without listeners there are no events. */
	subscribe(listener: PolicyListener): () => void {
		return observePipelines(this.#observed, (pipeline) => subscribeTo(pipeline, listener))
	}

	observation(
		stats: () => unknown,
		withRuntime: Inspection['withRuntime'],
		origin?: string,
	): InspectableObservation {
		return {
			kind: 'http',
			identity: this,
			origin,
			calls: (attach) => observePipelines(this.#observed, attach),
			members: () => [...this.#origins.entries()].map(({ key, value }) => [key, value.policy]),
			stats,
			inspection: {
				name: this.settings.name ?? 'http',
				sample: () => ({
					policies: this.#create('sample').policies,
					totalTimeoutMs: this.settings.totalTimeoutMs,
					timeoutMs: this.settings.timeout,
				}),
				runtime: this.runtime,
				withRuntime,
			},
		}
	}

	/** Returns the pipeline of a URL's origin, or of a breaker key within it, created on first use. */
	pipelineOf(url: string, route: string): OriginPipeline {
		const now = this.runtime.now()
		const base = this.#origins.get(this.#parser.originOf(url), now, this.#create)
		return route ? this.#origins.get(routeKey(base, route), now, (key) => this.#create(key, base)) : base
	}

	findOrigin(name: string): Origin | undefined {
		return this.#origins.find(name)?.origin
	}

	redirectCircuits(request: PreparedRequest, target: string): (CircuitBreakerLayer | undefined)[] {
		const { circuitBreakerKey } = this.settings
		const origin = originOf(target)
		const route = circuitBreakerKey && routeOf(circuitBreakerKey, { ...request, url: target })
		return [
			this.#origins.find(route ? `${origin} ${route}` : origin),
			this.pipelineOf(request.url, `-> ${origin}`),
		].map((pipeline) => breakerLayerOf(pipeline?.breaker))
	}

	/** Sends a request. Throws synchronously for an invalid URL or scheme. */
	send(
		request: PreparedRequest,
		options: RequestOptions,
		signal: AbortSignal | undefined,
	): Promise<HttpResponse> {
		const { runtime, settings } = this
		const counts = this.#counts
		const origins = this.#origins
		// Everything that may throw comes before `acquire`, because an acquired entry must be released.
		const name = this.#parser.originOf(request.url)
		const plan = new RequestPlan(request, options, settings, runtime)
		const route = settings.circuitBreakerKey ? routeOf(settings.circuitBreakerKey, request) : ''
		const pauses = this.#pausesOf(name, request)
		const base = origins.acquire(name, runtime.now(), this.#create)
		const entry = route
			? origins.acquire(routeKey(base.value, route), runtime.now(), (key) => this.#create(key, base.value))
			: base
		const { origin, compiled } = entry.value
		const requestRun = new RequestRun(plan, origin, pauses)
		const call = new Call(compiled, plan.callOptions(entry.key, signal, requestRun), (context) => {
			counts.attempts++
			return requestRun.attempt(context)
		})
		counts.requests++
		const runAround = compiled.observer?.run
		return (runAround ? runAround(call, run) : run(call)).then(
			(response) => {
				this.#end(requestRun, entry, base, response)
				return this.#onResponse(call, response as HttpResponse)
			},
			(error) => {
				this.#end(requestRun, entry, base, error instanceof HttpStatusError ? error.response : undefined)
				requestRun.discardUnsentBody(error)
				return this.#onFailure(call, error)
			},
		)
	}

	/** Releases what the run holds, except its final response. */
	#end(run: RequestRun, entry: Entry<OriginPipeline>, base: Entry<OriginPipeline>, final: unknown): void {
		run.redirects?.settle(this.runtime)
		run.drainAllExcept(final)
		const now = this.runtime.now()
		// The origin last, so that it is evicted later than its keys.
		if (entry !== base) this.#origins.release(entry, now)
		this.#origins.release(base, now)
	}

	/** Returns the pauses of a request; undefined if the request shares the pauses of its origin. */
	#pausesOf(origin: string, request: PreparedRequest): Pauses | undefined {
		const { settings, runtime } = this
		const { pauseScope } = settings
		if (pauseScope === 'auto' || pauseScope === 'origin') return undefined
		const create = () => new Pauses(settings, runtime)
		if (pauseScope === 'call') return create()
		const principal = principalOf(settings.principal, request)
		const credentials = CREDENTIAL_HEADERS.map((name) => requestHeader(request.headers, name))
		return this.#pauses.get(JSON.stringify([origin, principal, ...credentials]), runtime.now(), create)
	}

	#onResponse(call: Call, response: HttpResponse): HttpResponse | Promise<HttpResponse> {
		if (call.lastAttempt) attributeResponse(response, call)
		if (!this.#options.requiresOk || response.ok) return response
		// No attempt treated this response as a failure, such as an unfollowed redirect.
		const error = new HttpStatusError(response)
		copyRecord(response, error)
		return this.#onFailure(call, error)
	}

	#onFailure(call: Call, error: unknown): HttpResponse | Promise<HttpResponse> {
		this.#counts.failures++
		const hint = stopHint(call, error, this.settings.maxRetryAfterMs)
		if (hint) call.rareState.hint = hint
		if (!(error instanceof HttpStatusError)) throw withHint(error, call, hint)
		attributeResponse(error.response, call)
		const { onFailedStatus } = this.#options
		if (!onFailedStatus) throw error
		return onFailedStatus(error, call)
	}
}

/** An origin contains no space. */
const routeKey = ({ origin }: OriginPipeline, route: string): string => `${origin.name} ${route}`
