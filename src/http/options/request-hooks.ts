import type { Hook } from '../../core/options/hooks.ts'
import { invalidOption, type OptionSchema } from '../../core/options/schema.ts'
import type { HeaderSource } from '../headers/request-headers.ts'
import type { BodySource } from '../transport/request.ts'

/** A request, as functions of the user see it. */
export interface OutgoingRequest extends RequestHead {
	/** The body as it is sent. Do not read a stream. For a `Request`: a Uint8Array, or undefined above 1 MB. */
	readonly body: BodySource
}

/**
 * The request of one attempt, which the options `onRequest` and `onResponse` of `resilientFetch` and
 * `ResilientHttpClient` receive.
 */
export interface AttemptRequest extends OutgoingRequest {
	/** The headers of this attempt, those of the package included. `onRequest` may change them. */
	readonly headers: Headers
	/** The attempt, counted from 0. The requests of a hedge have the same number. */
	readonly attempt: number
	/** Aborted if the caller aborts, or if the timeout of the attempt or of the call expires. */
	readonly signal: AbortSignal
}

/** Functions that are called inside each attempt. Their time counts for its timeout. */
export interface RequestHooks {
	/**
	 * Called before each attempt, hedges included, and may set headers: a fresh token, a signature. It is not
	 * called again for redirects; credentials are not sent to other origins. The attempt waits for its promise.
	 * If it throws, the call ends with that error.
	 *
	 * @example
	 * resilientFetch({ onRequest: async ({ headers }) => headers.set('authorization', `Bearer ${await getToken()}`) })
	 */
	readonly onRequest?: Hook<[request: AttemptRequest], unknown> | undefined
	/**
	 * Called with the response of each attempt, of any status, before the status is examined. It may return
	 * another response in its place, for example with the status 429 for a page that says so. If it throws, the
	 * call ends with that error.
	 *
	 * @example
	 * resilientFetch({
	 *   onResponse: ({ headers }) => (headers.has('x-throttled') ? new Response(null, { status: 429 }) : undefined),
	 * })
	 */
	readonly onResponse?: Hook<[response: Response, request: AttemptRequest], HookResult> | undefined
	/**
	 * Called with a copy of each 2xx response, for services that report failures with the status 200. Returns
	 * false if the content is a failure: the attempt has then failed with a transient HttpError. If it throws,
	 * the attempt fails with that error, classified like any other; `throw permanent(error)` prevents a retry.
	 *
	 * @example
	 * resilientFetch({ validateResponse: async (response) => (await response.json()).ok })
	 */
	readonly validateResponse?:
		| Hook<[response: Response, request: AttemptRequest], ValidationResult>
		| undefined
	/**
	 * Returns true if the request may be sent twice, such as a GraphQL query or a completion of a language
	 * model. Called after a failure, for requests that neither their method nor an idempotency key makes safe
	 * to retry. Synchronous. Default: none of them is retried.
	 *
	 * @example
	 * resilientFetch({ idempotent: ({ url }) => url.endsWith('/chat/completions') })
	 */
	readonly idempotent?: Hook<[request: OutgoingRequest], boolean> | undefined
}

/** Whether a response is valid: anything but false. */
type ValidationResult = boolean | void | Promise<boolean | undefined> | Promise<void>

/** A response, or nothing. */
type HookResult = Response | void | Promise<Response | undefined> | Promise<void>

export const HOOKS_SCHEMA: OptionSchema = {
	onRequest: 'function',
	onResponse: 'function',
	validateResponse: 'function',
	idempotent: 'function',
}

/** The part of a request that the options `circuitBreakerKey` and `principal` of HTTP clients receive. */
export interface RequestHead {
	/** The URL before redirects, with its query. */
	readonly url: string
	readonly method: string
	readonly headers: Headers
}

type Identify = (request: RequestHead) => string | undefined

/** A request whose headers are in any form that `fetch` accepts. */
type GivenHead = Omit<RequestHead, 'headers'> & { readonly headers: HeaderSource }

const headOf = ({ method, url, headers }: GivenHead): RequestHead => ({
	method,
	url,
	headers: new Headers(headers),
})

/** Returns the user of a request, if the caller's function knows. Call it in the caller's async context. */
export function principalOf(
	identify: Identify | undefined,
	request: GivenHead & { readonly principal?: string | undefined },
): string | undefined {
	const principal: unknown = request.principal ?? identify?.(headOf(request))
	if (principal !== undefined && typeof principal !== 'string')
		invalidOption('principal(request)', principal, 'a function that returns a string or undefined')
	return principal || undefined
}

/** Returns the key of the breaker of a request within its origin. */
export function routeOf(circuitBreakerKey: (request: RequestHead) => string, request: GivenHead): string {
	const key: unknown = circuitBreakerKey(headOf(request))
	if (typeof key !== 'string')
		invalidOption('circuitBreakerKey(request)', key, 'a function that returns a string')
	return key
}
