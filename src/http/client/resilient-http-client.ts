import { CircuitBreaker } from '../../core/circuit-breaker/circuit-breaker.ts'
import type { CallOptions } from '../../core/engine/call-options.ts'
import type { PolicyListener } from '../../core/events/events.ts'
import type { Inspectable } from '../../core/observe/inspection.ts'
import { invalidOption, isObject, MAX_NUMBER } from '../../core/options/schema.ts'
import { Timeout } from '../../core/timeout/timeout.ts'
import { cachePolicy } from '../cache/cache-policy.ts'
import type { CacheStats } from '../cache/response-cache.ts'
import { CLIENT_BULKHEAD, readHttpOptions } from '../options/http-options.ts'
import { readRequestOptions } from '../options/request-options.ts'
import { isHttpScheme, urlForMessage } from '../origin/origin-parser.ts'
import { untilAbort } from '../request/attempt-hooks.ts'
import { readText } from '../request/drain-body.ts'
import { reportProgress } from '../request/limit-body.ts'
import { runOf } from '../request/request-run.ts'
import { setMessage } from '../request/status-error.ts'
import { currentFetch, followByFetch, showsRedirects } from '../transport/fetch-transport.ts'
import { discardBody } from '../transport/request.ts'
import { MAX_DRAIN_MS } from '../transport/response.ts'
import {
	CLIENT_SCHEMA,
	type ClientCore,
	createCache,
	DEFAULTS_SCHEMA,
	type HttpClientOptions,
} from './client-options.ts'
import {
	Draft,
	type HttpClientInit,
	type HttpClientJsonInit,
	type HttpClientReadInit,
	isShareable,
	prepareRequest,
	readRequest,
	toUrl,
} from './client-request.ts'
import { HttpEngine, type RequestStats } from './http-engine.ts'
import { type HeaderRecord, type RequestDefaults, readDefaults, sentHeaders } from './request-defaults.ts'
import { type ResponsePromise, responsePromise } from './response-promise.ts'
import { SingleFlight } from './single-flight.ts'

/**
 * Counts of requests, failures, attempts and of shared or cached responses, with the state of each origin.
 * Read it from `client.stats`.
 */
export interface HttpClientStats extends RequestStats {
	/** GETs that shared the response of an equal one. They were not sent and are not part of `requests`. */
	readonly shared: number
	readonly cache: CacheStats | undefined
}

/**
 * An HTTP client with a circuit breaker, a bulkhead and a retry budget per origin. Returns 2xx responses and
 * throws an `HttpError` for any other final status.
 *
 * @example
 * const client = new ResilientHttpClient({ baseUrl: 'https://api.example.com', timeout: 5_000, cache: true })
 * const user = await client.get('/users/7').json(User)
 */
export class ResilientHttpClient implements Inspectable {
	readonly #options: HttpClientOptions
	readonly #defaults: RequestDefaults
	readonly #core: ClientCore
	#headersTimeout: Timeout | undefined

	constructor(options?: HttpClientOptions)
	constructor(options: HttpClientOptions = {}, parent?: ResilientHttpClient) {
		const given = Object.entries(options ?? {}).filter(([, value]) => value !== undefined)
		const isStateShared = given.every(([name]) => Object.hasOwn(DEFAULTS_SCHEMA, name))
		this.#options = parent ? { ...parent.#options, ...Object.fromEntries(given) } : options
		this.#core = parent && isStateShared ? parent.#core : createCore(this.#options)
		this.#defaults = readDefaults(options, parent ? parent.#defaults : undefined)
	}

	/** Sends a request, with retries, and returns a 2xx response. Throws an HttpError for any other status. */
	request<Json>(url: string | URL, init: HttpClientJsonInit<Json> = {}): ResponsePromise {
		const draft = new Draft()
		return responsePromise(this.#send(draft, url, init), draft)
	}

	get(url: string | URL, init?: HttpClientReadInit): ResponsePromise {
		return this.request(url, { ...init, method: 'GET' })
	}

	head(url: string | URL, init?: HttpClientReadInit): ResponsePromise {
		return this.request(url, { ...init, method: 'HEAD' })
	}

	post<Json>(url: string | URL, init?: HttpClientJsonInit<Json>): ResponsePromise {
		return this.request<unknown>(url, { ...init, method: 'POST' })
	}

	put<Json>(url: string | URL, init?: HttpClientJsonInit<Json>): ResponsePromise {
		return this.request<unknown>(url, { ...init, method: 'PUT' })
	}

	patch<Json>(url: string | URL, init?: HttpClientJsonInit<Json>): ResponsePromise {
		return this.request<unknown>(url, { ...init, method: 'PATCH' })
	}

	delete<Json>(url: string | URL, init?: HttpClientJsonInit<Json>): ResponsePromise {
		return this.request<unknown>(url, { ...init, method: 'DELETE' })
	}

	/**
	 * Returns a client with further options. Headers and search parameters are merged by name; undefined
	 * removes one. Any other option replaces this client's, hooks too. With a `baseUrl` of another origin,
	 * headers, search parameters and `auth` are not inherited.
	 *
	 * A client that is extended only by `baseUrl`, `headers`, `searchParams` and `auth` shares circuits,
	 * bulkheads, budgets, pauses, cache and statistics with this client. With any other option it has its own.
	 *
	 * @example
	 * const asUser = client.extend({ headers: { 'x-user': user.id } })
	 */
	extend(options: HttpClientOptions): ResilientHttpClient {
		if (!isObject(options)) invalidOption('options', options, 'an object')
		return Reflect.construct(ResilientHttpClient, [options, this])
	}

	/** Totals, and the current state of each origin. */
	get stats(): HttpClientStats {
		const { engine, cache, singleFlight } = this.#core
		return { ...engine.stats, shared: singleFlight?.shared ?? 0, cache: cache?.stats }
	}

	/**
	 * Subscribes to every event of every origin. `key` in an event is the origin. Returns a function that
	 * unsubscribes.
	 *
	 * @example
	 * client.subscribe((event) => console.log(JSON.stringify(event)))
	 */
	subscribe(listener: PolicyListener): () => void {
		return this.#core.engine.subscribe(listener)
	}

	'~observable'(): { readonly inspection: object } {
		return this.#core.engine.observation(
			() => this.stats,
			(runtime) => this.extend({ runtime }),
			this.#defaults.origin,
		)
	}

	/** Removes every cached response, for example when the user logs out. */
	clearCache(): void {
		this.#core.cache?.clear()
	}

	/**
	 * Returns the circuit breaker of an origin, given by any of its URLs, also before the first request.
	 * Default: that of `baseUrl`. `key` is a result of `circuitBreakerKey`; without it the breaker of the
	 * origin itself is returned. Undefined if breakers are off.
	 *
	 * @example
	 * const release = client.circuitBreaker('https://api.example.com')?.isolate()
	 */
	circuitBreaker(origin: string | URL = '', key = ''): CircuitBreaker | undefined {
		const { breaker } = this.#core.engine.pipelineOf(this.#defaults.resolve(toUrl(origin)), key)
		return breaker instanceof CircuitBreaker ? breaker : undefined
	}

	async #send(draft: Draft, url: string | URL, init: HttpClientInit): Promise<Response> {
		const { engine, singleFlight } = this.#core
		const { headers, sent } = this.#defaults
		const signal = init.signal ?? undefined
		const options = readRequestOptions(init.yaoki, engine.settings.maxRetries)
		readRequest(draft, url, init, this.#defaults)
		// Awaited without a function too: until the next microtask, `json()` may add a header.
		const added = await (draft.auth || (typeof headers === 'function' && draft.isOwn)
			? this.#callHeaders(draft, { signal, deadline: options.deadline })
			: sent)
		const request = prepareRequest(draft, added, this.#core)
		if (singleFlight && isShareable(draft, init)) return singleFlight.send(request, signal)
		// A `fetch` returns real responses.
		return (await engine.send(request, options, signal)) as Response
	}

	/** Calls the functions of `headers` and `auth`, within the attempt's timeout and the caller's limits. */
	async #callHeaders(draft: Draft, options: CallOptions): Promise<Record<string, string> | undefined> {
		const { runtime, settings } = this.#core.engine
		const { headers } = this.#defaults
		const getHeaders = async (): Promise<HeaderRecord> => {
			const record = typeof headers === 'function' ? await headers() : headers
			return draft.auth ? { ...record, authorization: await draft.auth.header() } : record
		}
		const { timeout, totalTimeoutMs } = settings
		this.#headersTimeout ??= new Timeout(Math.min(timeout, totalTimeoutMs, MAX_NUMBER), {
			name: 'headers',
			runtime,
		})
		const startedAt = runtime.now()
		try {
			const record = await this.#headersTimeout.execute(
				({ signal }) => untilAbort(signal, getHeaders),
				options,
			)
			return sentHeaders(record)
		} catch (error) {
			if (typeof draft.body !== 'function') discardBody(draft.body, error)
			throw error
		} finally {
			draft.spentMs = runtime.now() - startedAt
		}
	}
}

/** Validates the options and creates policies and cache. */
function createCore(options: HttpClientOptions): ClientCore {
	const settings = readHttpOptions(options, CLIENT_SCHEMA, 'ResilientHttpClient', CLIENT_BULKHEAD)
	const cache = createCache(options)
	const { fetch: given, singleFlight, downloadProgress } = options
	const plainFetch = (): typeof globalThis.fetch => given ?? currentFetch()
	const engine = new HttpEngine(settings, {
		requiresOk: true,
		async onFailedStatus(error, call) {
			// Only the final error names its request: in `explain` the same URL on every line would be noise.
			const { method, url } = runOf(call)
			const hint = call.rare?.hint
			setMessage(error, `${error.message} for ${method} ${urlForMessage(url)}${hint ? ` (${hint})` : ''}`)
			// Read now, because code that catches an error rarely reads a stream; and only as much as an error
			// needs.
			const leftMs = call.options?.deadline?.remainingMs ?? Infinity
			error.body = await readText(error.response, engine.runtime, Math.min(MAX_DRAIN_MS, leftMs))
			call.options?.signal?.throwIfAborted()
			throw error
		},
		createBreaker: (options) => new CircuitBreaker(options),
		outerPolicies: () => (cache ? [cachePolicy(cache)] : []),
		isAllowedScheme: isHttpScheme,
	})
	return {
		engine,
		cache,
		singleFlight: singleFlight ? new SingleFlight(engine) : undefined,
		reportProgress: downloadProgress ? reportProgress : undefined,
		send: (url, init) => plainFetch()(url, init),
		follow: showsRedirects()
			? (response, url, init) => followByFetch(response, url, init, plainFetch())
			: undefined,
	}
}
