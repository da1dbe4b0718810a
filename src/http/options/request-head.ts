import { invalidOption } from '../../core/options/schema.ts'
import type { HeaderSource } from '../headers/request-headers.ts'

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

/** Returns the user that a request belongs to, if the caller's function knows. Call it in the caller's async context. */
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
