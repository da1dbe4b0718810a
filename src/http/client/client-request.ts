/** Prepares the requests of a client: its URL, headers, search parameters and body. */
import { invalidArgument, invalidOption } from '../../core/options/schema.ts'
import { cachedRequest, storeResponse } from '../cache/cache-policy.ts'
import type { ResponseCache } from '../cache/response-cache.ts'
import { addHeaders, copyHeaders, type HeaderSource, namesHeader } from '../headers/request-headers.ts'
import { principalOf } from '../options/request-hooks.ts'
import { checkMisplaced, type ResilientRequestInit } from '../options/request-options.ts'
import { canFollow } from '../transport/fetch-transport.ts'
import {
	BODY_ALREADY_READ,
	isBodyUsed,
	type PreparedRequest,
	type RequestBody,
} from '../transport/request.ts'
import type { Auth } from './auth.ts'
import type { ClientCore } from './client-options.ts'
import type { HttpEngine } from './http-engine.ts'
import type { RequestDefaults, RequestHeaders } from './request-defaults.ts'
import { addSearchParams, readSearchParams, type SearchParams } from './search-params.ts'

/** `JSON.stringify` throws for a bigint, so it does not compile. What has `toJSON` converts itself. */
type JsonInput<T> = T extends bigint
	? never
	: T extends { toJSON(): unknown } | ((...args: never) => unknown)
		? T
		: T extends object
			? { [Key in keyof T]: JsonInput<T[Key]> }
			: T

/**
 * The init of a client's `request`, `post`, `put`, `patch` and `delete`: the init of `fetch`, plus `json`,
 * `searchParams` and `yaoki`. `get` and `head` take it without `json`.
 */
export interface HttpClientInit<Json = unknown> extends Omit<ResilientRequestInit, 'headers'> {
	/** Replace the client's headers of the same names. A header whose value is undefined is not sent. */
	readonly headers?: RequestHeaders
	/** Added to the URL. They replace parameters of the same names in the URL and of the client. */
	readonly searchParams?: SearchParams | undefined
	/** Sent as a JSON body with its content-type. */
	readonly json?: Json | undefined
}

/** The init of a request with a JSON value that can be sent. */
export type HttpClientJsonInit<Json> = HttpClientInit<Json> & {
	readonly json?: NoInfer<JsonInput<Json>> | undefined
}

/** The init of a request without a body. */
export interface HttpClientReadInit extends HttpClientInit {
	readonly json?: undefined
}

/** A request until it is sent in the next microtask. */
export class Draft {
	method = ''
	url = ''
	/** A copy of the caller's headers that keeps undefined values, which remove headers of the client. */
	headers: HeaderSource
	body: RequestBody
	/** The rest of the caller's init. */
	init: RequestInit | undefined
	/** True if the client's headers may be sent to this URL. */
	isOwn = false
	sendsJson = false
	/** Sends the client's token; undefined if the request sets the header itself. */
	auth: Auth | undefined
	/** Set by `json()` of the response. */
	acceptsJson = false
	/** How long the call has waited for its headers. */
	spentMs = 0
}

/** Reads the arguments of a request. Synchronous, because the caller may change them after the call. */
export function readRequest(
	draft: Draft,
	url: unknown,
	init: HttpClientInit,
	defaults: RequestDefaults,
): void {
	const { method = 'GET', yaoki: _, json, searchParams, headers, ...rest } = init
	checkMisplaced(rest)
	const { body } = rest
	if (isBodyUsed(body)) throw new TypeError(BODY_ALREADY_READ)
	if (json !== undefined && body !== undefined) invalidOption('json', json, 'either json or body, not both')
	const text = json === undefined ? undefined : JSON.stringify(json)
	if (json !== undefined && text === undefined)
		invalidOption('json', json, 'a value that JSON.stringify can convert')
	const given = toUrl(url)
	const resolved = defaults.resolve(given)
	// An absolute URL, which `resolve` does not change, may belong to another origin.
	draft.isOwn = resolved !== given || defaults.isOwn(given)
	draft.method = method.toUpperCase()
	draft.url = addSearchParams(resolved, draft.isOwn ? defaults.params : [], readSearchParams(searchParams))
	draft.headers = headers && addHeaders(headers as HeaderSource, {})
	draft.body = text ?? body
	draft.init = rest as RequestInit
	const { auth } = defaults
	if (auth && draft.isOwn && !namesHeader(headers as HeaderSource, 'authorization')) draft.auth = auth
	draft.sendsJson = json !== undefined
}

/** Returns true for a GET without body and options: the rest of its init is the same for all callers. */
export const isShareable = ({ method, init, body }: Draft, { yaoki }: HttpClientInit): boolean =>
	method === 'GET' &&
	(body ?? yaoki) === undefined &&
	Object.keys(init ?? {}).every((name) => name === 'signal' || name === 'body')

const JSON_BODY = { 'content-type': 'application/json' }
const JSON_RESPONSE = { accept: 'application/json' }

/** Returns the request that is sent. Its own headers come before the client's, and both before JSON's. */
export function prepareRequest(
	draft: Draft,
	clientHeaders: Record<string, string> | undefined,
	{ send, follow, reportProgress, cache, engine }: ClientCore,
): PreparedRequest {
	const { method, url, body, init, isOwn, auth, sendsJson, acceptsJson, spentMs } = draft
	let { headers } = draft
	if (isOwn && clientHeaders) headers = addHeaders(headers, clientHeaders)
	if (sendsJson) headers = addHeaders(headers, JSON_BODY)
	if (acceptsJson) headers = addHeaders(headers, JSON_RESPONSE)
	const request: PreparedRequest = {
		url,
		method,
		headers,
		body,
		init,
		isSingleUse: false,
		send: auth ? auth.sender(send, body, engine) : send,
		follow: canFollow(init?.redirect, init?.integrity) ? follow : undefined,
		spentMs,
		reportProgress,
	}
	return cache ? withCache(request, cache, engine, isOwn ? Object.keys(clientHeaders ?? {}) : []) : request
}

/** Returns the request with what the cache needs. `names` are the headers that the client sets. */
function withCache(
	request: PreparedRequest,
	cache: ResponseCache,
	engine: HttpEngine,
	names: string[],
): PreparedRequest {
	const { settings, runtime } = engine
	// The cache key and the request use this copy: a caller that changes the headers meanwhile must not mix up
	// two principals.
	const headers = new Headers(copyHeaders(request.headers))
	const principal = principalOf(settings.principal, { ...request, headers })
	const clientHeaders = JSON.stringify(names.sort().map((name) => [name, headers.get(name)]))
	const sent = { ...request, headers, principal, clientHeaders }
	const cached = cachedRequest(sent, cache.generation)
	return { ...sent, finish: (response) => storeResponse(cache, cached, response, () => runtime.now()) }
}

/** Rejects a Request, whose method and body would be lost. A URL may be of another realm. */
export function toUrl(url: unknown): string {
	if (typeof url === 'string') return url
	if (typeof url !== 'object' || url === null || !('href' in url))
		invalidArgument('url', url, 'a string or URL')
	return String(url)
}
