import type { CircuitBreaker } from '../../core/circuit-breaker/circuit-breaker.ts'
import { systemRuntime } from '../../core/runtime/system.ts'
import { CachePolicy } from '../cache/cache-policy.ts'
import type { CacheOptions } from '../cache/options.ts'
import { ResponseCache } from '../cache/response-cache.ts'
import { cachedRequest, storeResponse } from '../cache/store-response.ts'
import { addHeaders } from '../headers/request-headers.ts'
import { CLIENT_BULKHEAD, HTTP_RULES, type HttpOptions, readHttpOptions } from '../options/http-options.ts'
import { placed, refuse } from '../options/option-path.ts'
import { type ResilientRequestInit, readRequestOptions } from '../options/request-options.ts'
import { isHttp } from '../origin/origin-parser.ts'
import { readText } from '../request/drain-body.ts'
import type { PreparedRequest } from '../request/http-call.ts'
import { currentFetch, sendByFetch } from '../transport/fetch-transport.ts'
import { BODY_ALREADY_READ, isBodyUsed } from '../transport/request-body.ts'
import { type HttpResponse, MAX_DRAIN_MS, type Transport } from '../transport/transport.ts'
import { HttpEngine, type StatusHandling } from './http-engine.ts'
import { nameRequest } from './name-request.ts'
import { type HttpClientStats, type OriginStats, statsOf } from './stats.ts'

/** What a client takes. */
export interface HttpClientOptions<R extends HttpResponse = Response> extends HttpOptions {
	/** What sends the requests: default `fetch`; `undiciTransport(undici)` is about twice as fast. */
	readonly transport?: Transport<R> | undefined
	/** Remembers the last good answer to each GET, and gives it while the circuit is open. Default: off. */
	readonly cache?: CacheOptions | boolean | undefined
}

/** What a request takes: all that `fetch` does, and a value to be sent as JSON. */
export interface HttpClientInit extends ResilientRequestInit {
	/** Sent as the body, with its content-type. */
	readonly json?: unknown
}

const RULES = { ...HTTP_RULES, transport: 'function', cache: 'any' } as const

/**
 * An HTTP client with a breaker, a bulkhead and a retry budget for each origin. Gives 2xx answers, and throws an HttpError for all
 * others when there is nothing more to try.
 *
 * @example
 * const client = new ResilientHttpClient({ timeout: 5_000, maxRetries: 3, cache: true })
 * const user = await (await client.get('https://api.example.com/users/7')).json()
 */
export class ResilientHttpClient<R extends HttpResponse = Response> {
	readonly #engine: HttpEngine
	readonly #transport: Transport<R>
	readonly #cache: ResponseCache | undefined

	constructor(options: HttpClientOptions<R> = {}) {
		const settings = readHttpOptions(options, RULES, CLIENT_BULKHEAD)
		const { cache } = options
		if (cache === null || !['undefined', 'boolean', 'object'].includes(typeof cache))
			refuse('cache', cache, 'options, true or false')
		const kept = cache ? placed('cache.', () => new ResponseCache(cache === true ? {} : cache)) : undefined
		this.#cache = kept
		// Without a transport R is Response, which is what `fetch` gives.
		this.#transport = options.transport ?? (overFetch as Transport<HttpResponse> as Transport<R>)
		const runtime = settings.runtime ?? systemRuntime
		const ending: StatusHandling = {
			needsOk: true,
			async refused(error, call) {
				nameRequest(error, call)
				// Read now, for who catches the error seldom reads a stream; and no more of it than an error needs.
				const leftMs = call.options?.deadline?.remainingMs ?? Infinity
				error.body = await readText(error.response, runtime, Math.min(MAX_DRAIN_MS, leftMs))
				call.options?.signal?.throwIfAborted()
				throw error
			},
		}
		this.#engine = new HttpEngine(settings, ending, kept && (() => [new CachePolicy(kept)]), isHttp)
	}

	/** Sends a request, again where that may help, and answers with a 2xx response; throws an HttpError for any other. */
	request(url: string | URL, init: HttpClientInit = {}): Promise<R> {
		try {
			const own = readRequestOptions(init.yaoki, this.#engine.settings.maxRetries)
			const sent = this.#engine.send(this.#outgoing(addressed(url), init), own, init.signal ?? undefined)
			// Of the transport, or a real Response from the cache.
			return sent as Promise<R>
		} catch (error) {
			return Promise.reject(error)
		}
	}

	get(url: string | URL, init?: HttpClientInit): Promise<R> {
		return this.request(url, { ...init, method: 'GET' })
	}

	post(url: string | URL, init?: HttpClientInit): Promise<R> {
		return this.request(url, { ...init, method: 'POST' })
	}

	put(url: string | URL, init?: HttpClientInit): Promise<R> {
		return this.request(url, { ...init, method: 'PUT' })
	}

	patch(url: string | URL, init?: HttpClientInit): Promise<R> {
		return this.request(url, { ...init, method: 'PATCH' })
	}

	delete(url: string | URL, init?: HttpClientInit): Promise<R> {
		return this.request(url, { ...init, method: 'DELETE' })
	}

	/** What it has done so far, and how each origin is. */
	get stats(): HttpClientStats {
		const { counts, lanes } = this.#engine
		const origins: Record<string, OriginStats> = {}
		for (const { key, value } of lanes.entries()) origins[key] = statsOf(value)
		return { ...counts, cache: this.#cache?.stats, origins }
	}

	/** Forgets every answer that was kept, as when somebody logs out. */
	clearCache(): void {
		this.#cache?.clear()
	}

	/**
	 * The breaker of an origin, by any URL of it, to be isolated or reset by an operator; also before the first request. Undefined
	 * for a client that has none.
	 *
	 * @example
	 * const release = client.circuitBreaker('https://api.example.com')?.isolate()
	 */
	circuitBreaker(origin: string | URL): CircuitBreaker | undefined {
		return this.#engine.laneOf(addressed(origin)).breaker
	}

	#outgoing(url: string, init: HttpClientInit): PreparedRequest {
		const { method = 'GET', yaoki: _, json, ...rest } = init
		const { headers, body } = rest
		if (isBodyUsed(body)) throw new TypeError(BODY_ALREADY_READ)
		if (json !== undefined && body !== undefined) refuse('json', json, 'no body beside it')
		const text = json === undefined ? undefined : JSON.stringify(json)
		// It would be sent without a body, and with a content-type of one.
		if (json !== undefined && text === undefined) refuse('json', json, 'a value that JSON can write')
		const cache = this.#cache
		const whole = json === undefined ? headers : addHeaders(headers, { 'content-type': 'application/json' })
		const outgoing: PreparedRequest = {
			url,
			method: method.toUpperCase(),
			// What is kept is filed under these, and sent with these: a caller who changes them meanwhile must not mix up two principals.
			headers: cache ? new Headers(whole) : whole,
			body: text ?? body,
			init: rest as RequestInit,
			isSingleUse: false,
			send: this.#transport,
			sendWithNotice: this.#transport.withNotice,
		}
		return cache ? { ...outgoing, finish: this.#keeping(cache, outgoing) } : outgoing
	}

	/** Keeps what is answered, if nothing has happened to the cache since the request was made. */
	#keeping(cache: ResponseCache, outgoing: PreparedRequest): NonNullable<PreparedRequest['finish']> {
		const request = cachedRequest(outgoing, cache.generation)
		return (response) => storeResponse(cache, request, response, () => this.#engine.runtime.now())
	}
}

/** A Request has a method and a body of its own, which would be lost. A URL may be of another class than that of the runtime. */
function addressed(url: unknown): string {
	if (typeof url === 'string') return url
	if (typeof url !== 'object' || url === null || !('href' in url)) refuse('url', url, 'a string or URL')
	return String(url)
}

/** Looked up for each request, for tests and tools put their own in its place. */
const overFetch: Transport<Response> = (url, init) => sendByFetch(url, init, currentFetch())
