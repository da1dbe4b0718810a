/** The options of a client, and its cache. Without the engine, so that the chain of imports stays short. */
import { withOptionPath } from '../../core/options/option-path.ts'
import { invalidOption, type OptionSchema, readSwitchable } from '../../core/options/schema.ts'
import { type CacheOptions, ResponseCache } from '../cache/response-cache.ts'
import { FETCH_SCHEMA, type HttpOptions, type ResponseLimitOptions } from '../options/http-options.ts'
import type { RequestHooks } from '../options/request-hooks.ts'
import type { PreparedRequest } from '../transport/request.ts'
import type { HttpEngine } from './http-engine.ts'
import type { RequestDefaultOptions } from './request-defaults.ts'
import type { SingleFlight } from './single-flight.ts'

/** Options of `new ResilientHttpClient` and of `client.extend`. */
export interface HttpClientOptions
	extends HttpOptions,
		ResponseLimitOptions,
		RequestHooks,
		RequestDefaultOptions {
	/** The `fetch` that sends the requests. Default: the global one, looked up for each request. */
	readonly fetch?: typeof fetch | undefined
	/** Stores the last successful response of each GET, for while the circuit is open. Default: off. */
	readonly cache?: CacheOptions | boolean | undefined
	/**
	 * Concurrent GETs with the same URL and headers share one request, and each caller gets a response of its
	 * own. A caller's abort or deadline ends only its own call. Requests with `yaoki` or other options in their
	 * init are not shared, nor are event streams and bodies above 1 MB. Default: off.
	 */
	readonly singleFlight?: boolean | undefined
	/**
	 * Emits `download_progress` events while the body of a 2xx response is read, at most every 100 ms. Default
	 * false.
	 */
	readonly downloadProgress?: boolean | undefined
}

/** Options that change only what requests contain. A client extended by them shares its parent's state. */
export const DEFAULTS_SCHEMA: OptionSchema = {
	baseUrl: 'any',
	headers: 'any',
	searchParams: 'any',
	auth: 'any',
}

export const CLIENT_SCHEMA: OptionSchema = {
	...FETCH_SCHEMA,
	...DEFAULTS_SCHEMA,
	cache: 'any',
	singleFlight: 'boolean',
	downloadProgress: 'boolean',
}

/** What a client shares with clients that extend it: policies, their state, the cache, and how to send. */
export interface ClientCore extends Pick<PreparedRequest, 'send' | 'follow' | 'reportProgress'> {
	readonly engine: HttpEngine
	readonly cache: ResponseCache | undefined
	readonly singleFlight: SingleFlight | undefined
}

export function createCache({
	cache: given,
	onRequest,
	principal,
	singleFlight,
}: HttpClientOptions): ResponseCache | undefined {
	const options = readSwitchable('cache', given, undefined)
	// Users whose credentials `onRequest` sets would receive each other's responses.
	if ((options || singleFlight) && onRequest && !principal)
		invalidOption(
			'principal',
			principal,
			'a function, because cache and singleFlight do not see what onRequest sets',
		)
	return options && withOptionPath('cache', () => new ResponseCache(options))
}
