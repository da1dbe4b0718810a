import type { CircuitBreaker } from '../../core/circuit-breaker/circuit-breaker.ts'
import type { PolicyListener } from '../../core/events/events.ts'
import { INSPECT, type Inspectable, type Inspection } from '../../core/inspect/inspect.ts'
import { withOptionPath } from '../../core/options/option-path.ts'
import { invalidOption } from '../../core/options/schema.ts'
import { systemRuntime } from '../../core/runtime/system.ts'
import { CachePolicy, cachedRequest, storeResponse } from '../cache/cache-policy.ts'
import type { CacheOptions } from '../cache/options.ts'
import { type CacheStats, ResponseCache } from '../cache/response-cache.ts'
import { addHeaders } from '../headers/request-headers.ts'
import {
	CLIENT_BULKHEAD,
	FETCH_SCHEMA,
	type HttpOptions,
	type ResponseLimitOptions,
	readHttpOptions,
} from '../options/http-options.ts'
import type { RequestHooks } from '../options/request-hooks.ts'
import { type ResilientRequestInit, readRequestOptions } from '../options/request-options.ts'
import { isHttpScheme, urlForMessage } from '../origin/origin-parser.ts'
import { httpCallOf } from '../request/attempt-layer.ts'
import { readText } from '../request/drain-body.ts'
import type { PreparedRequest } from '../request/http-call.ts'
import { setMessage } from '../request/status-error.ts'
import { canFollow, currentFetch, followByFetch, showsRedirects } from '../transport/fetch-transport.ts'
import { BODY_ALREADY_READ, isBodyUsed } from '../transport/request-body.ts'
import { MAX_DRAIN_MS } from '../transport/transport.ts'
import { HttpEngine, type RequestStats, stopHint } from './http-engine.ts'

/** Options of `ResilientHttpClient`. */
export interface HttpClientOptions extends HttpOptions, ResponseLimitOptions, RequestHooks {
	/** The `fetch` that sends the requests. Default: the global one, looked up for each request. */
	readonly fetch?: typeof fetch | undefined
	/** Stores the last successful response of each GET and returns it while the circuit is open. Default: off. */
	readonly cache?: CacheOptions | boolean | undefined
}

/** The init of a request: that of `fetch`, plus a JSON value. */
export interface HttpClientInit extends ResilientRequestInit {
	/** Sent as a JSON body with its content-type. */
	readonly json?: unknown
}

/** Statistics of a client. */
export interface HttpClientStats extends RequestStats {
	readonly cache: CacheStats | undefined
}

const SCHEMA = { ...FETCH_SCHEMA, cache: 'any' } as const

/**
 * An HTTP client with a circuit breaker, a bulkhead and a retry budget per origin. Returns 2xx responses and throws an HttpError for
 * any other final status.
 *
 * @example
 * const client = new ResilientHttpClient({ timeout: 5_000, maxRetries: 3, cache: true })
 * const user = await (await client.get('https://api.example.com/users/7')).json()
 */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: declares [INSPECT], whose computed name isolatedDeclarations cannot emit.
export class ResilientHttpClient {
	readonly #engine: HttpEngine
	readonly #send: PreparedRequest['send']
	readonly #follow: PreparedRequest['follow']
	readonly #cache: ResponseCache | undefined

	constructor(options: HttpClientOptions = {}) {
		const settings = readHttpOptions(options, SCHEMA, 'ResilientHttpClient', CLIENT_BULKHEAD)
		const cache = createCache(options)
		const { runtime = systemRuntime } = settings
		this.#cache = cache
		const { fetch: given } = options
		const plainFetch = (): typeof globalThis.fetch => given ?? currentFetch()
		this.#send = (url, init) => plainFetch()(url, init)
		this.#follow = showsRedirects()
			? (response, url, init) => followByFetch(response, url, init, plainFetch())
			: undefined
		this.#engine = new HttpEngine(settings, {
			requiresOk: true,
			async onFailedStatus(error, call) {
				// Only the final error names its request: in `explain` the same URL on every line would be noise.
				const { method, url } = httpCallOf(call).request
				setMessage(error, `${error.message} for ${method} ${urlForMessage(url)}${stopHint(call)}`)
				// Read now, because code that catches an error rarely reads a stream; and only as much as an error needs.
				const leftMs = call.options?.deadline?.remainingMs ?? Infinity
				error.body = await readText(error.response, runtime, Math.min(MAX_DRAIN_MS, leftMs))
				call.options?.signal?.throwIfAborted()
				throw error
			},
			outerPolicies: () => (cache ? [new CachePolicy(cache)] : []),
			isAllowedScheme: isHttpScheme,
		})
	}

	/** Sends a request, with retries, and returns a 2xx response. Throws an HttpError for any other final status. */
	request(url: string | URL, init: HttpClientInit = {}): Promise<Response> {
		try {
			const options = readRequestOptions(init.yaoki, this.#engine.settings.maxRetries)
			const sent = this.#engine.send(this.#prepare(toUrl(url), init), options, init.signal ?? undefined)
			// A `fetch` returns real responses.
			return sent as Promise<Response>
		} catch (error) {
			return Promise.reject(error)
		}
	}

	get(url: string | URL, init?: HttpClientInit): Promise<Response> {
		return this.request(url, { ...init, method: 'GET' })
	}

	post(url: string | URL, init?: HttpClientInit): Promise<Response> {
		return this.request(url, { ...init, method: 'POST' })
	}

	put(url: string | URL, init?: HttpClientInit): Promise<Response> {
		return this.request(url, { ...init, method: 'PUT' })
	}

	patch(url: string | URL, init?: HttpClientInit): Promise<Response> {
		return this.request(url, { ...init, method: 'PATCH' })
	}

	delete(url: string | URL, init?: HttpClientInit): Promise<Response> {
		return this.request(url, { ...init, method: 'DELETE' })
	}

	/** Totals, and the current state of each origin. */
	get stats(): HttpClientStats {
		return { ...this.#engine.stats, cache: this.#cache?.stats }
	}

	/**
	 * Subscribes to every event of every origin. `key` in an event is the origin. Returns a function that unsubscribes.
	 *
	 * @example
	 * client.subscribe((event) => console.log(JSON.stringify(event)))
	 */
	subscribe(listener: PolicyListener): () => void {
		return this.#engine.subscribe(listener)
	}

	/** @internal */
	[INSPECT](): Inspection {
		return this.#engine.inspect(() => this.stats)
	}

	/** Removes every cached response, for example when the user logs out. */
	clearCache(): void {
		this.#cache?.clear()
	}

	/**
	 * Returns the circuit breaker of an origin, given by any of its URLs, also before the first request. Undefined if breakers are off.
	 *
	 * @example
	 * const release = client.circuitBreaker('https://api.example.com')?.isolate()
	 */
	circuitBreaker(origin: string | URL): CircuitBreaker | undefined {
		return this.#engine.pipelineOf(toUrl(origin)).breaker
	}

	#prepare(url: string, init: HttpClientInit): PreparedRequest {
		const { method = 'GET', yaoki: _, json, ...rest } = init
		const { headers, body } = rest
		if (isBodyUsed(body)) throw new TypeError(BODY_ALREADY_READ)
		if (json !== undefined && body !== undefined) invalidOption('json', json, 'either json or body, not both')
		const text = json === undefined ? undefined : JSON.stringify(json)
		if (json !== undefined && text === undefined)
			invalidOption('json', json, 'a value that JSON.stringify can convert')
		const cache = this.#cache
		const allHeaders =
			json === undefined ? headers : addHeaders(headers, { 'content-type': 'application/json' })
		const request: PreparedRequest = {
			url,
			method: method.toUpperCase(),
			headers: allHeaders,
			body: text ?? body,
			init: rest as RequestInit,
			isSingleUse: false,
			send: this.#send,
			follow: canFollow(rest.redirect, rest.integrity) ? this.#follow : undefined,
		}
		if (!cache) return request
		// The cache key and the request use this copy: a caller that changes the headers meanwhile must not mix up two principals.
		const copy = new Headers(allHeaders)
		const principal = cache.principalOf({ method: request.method, url, headers: copy })
		const sent = { ...request, headers: copy, principal }
		const cached = cachedRequest(sent, cache.generation)
		const now = () => this.#engine.runtime.now()
		return { ...sent, finish: (response) => storeResponse(cache, cached, response, now) }
	}
}

export interface ResilientHttpClient extends Inspectable {}

function createCache({
	cache: given,
	onRequest,
}: Pick<HttpClientOptions, 'cache' | 'onRequest'>): ResponseCache | undefined {
	if (given === null || !['undefined', 'boolean', 'object'].includes(typeof given))
		invalidOption('cache', given, 'an options object, true or false')
	// Users whose credentials `onRequest` sets would receive each other's responses.
	if (given && onRequest && !Object(given).principal)
		invalidOption(
			'cache.principal',
			undefined,
			'a function, because the cache does not see what onRequest sets',
		)
	return given ? withOptionPath('cache', () => new ResponseCache(given === true ? {} : given)) : undefined
}

/** A Request is not accepted: its method and body would be lost. A URL may be of another class than the runtime's. */
function toUrl(url: unknown): string {
	if (typeof url === 'string') return url
	if (typeof url !== 'object' || url === null || !('href' in url))
		invalidOption('url', url, 'a string or URL')
	return String(url)
}
