import type { IdempotencyEngine } from '../engine/engine.ts'
import { checkEngine } from './check-engine.ts'
import { openBefore } from './node-http/exchange.ts'
import type { NodeRequest, NodeResponse } from './node-http/node-types.ts'

/** The part of Express's request that is used. Without `body`, because handlers would inherit its type. */
export type ExpressRequest = NodeRequest & {
	/** The URL before a router has removed its prefix. */
	readonly originalUrl?: string | undefined
}

/** What a router adds to a request. Not declared above, as `body` is not. */
interface RoutedRequest {
	/** The prefix that the router has removed. */
	readonly baseUrl?: string | undefined
	/** Undefined before a route was found. */
	readonly route?: { readonly path?: unknown } | undefined
	readonly params?: Readonly<Record<string, unknown>> | undefined
}

/**
 * Creates middleware for Express 4 and 5, and for compatible frameworks such as Connect: a repeated request
 * with the same `Idempotency-Key` gets the stored response. Handlers after it call `engine.context(req)`.
 * Body parsers may run before it (`req.body` is compared) or after it (the bytes are). If a handler fails,
 * the status of the error handler's response decides whether it is stored. An error of `principal` goes to
 * the error handler too.
 *
 * @example
 * app.post('/charges', expressIdempotency(engine), handler)
 */
export function expressIdempotency<Tx, Req extends ExpressRequest = ExpressRequest>(
	engine: IdempotencyEngine<Tx, Req>,
): (request: Req, response: NodeResponse, next: (error?: unknown) => void) => void {
	checkEngine(engine)
	return (request, response, next) => {
		const exchange = {
			request,
			response,
			raw: request,
			url: request.originalUrl ?? request.url ?? '/',
			failingSocket: request.socket ?? undefined,
			routePath: routePath(request as RoutedRequest),
			parsed: (request as { body?: unknown }).body,
		}
		openBefore(engine, exchange, next)
	}
}

/** A pattern of names and `:params`, without wildcards and regular expressions. */
const PLAIN_PATTERN = /^(?:\/[\w.~:-]*)*$/

/**
 * The path as the route writes it: Express ignores upper case and a slash at the end, so `/charges`,
 * `/charges/` and `/CHARGES` are one route, and a key must be one key on it. Undefined if that is not known:
 * the middleware runs before a route was found, or the pattern is not plain.
 */
function routePath({ route, baseUrl = '', params = {} }: RoutedRequest): string | undefined {
	const pattern = route?.path
	if (typeof pattern !== 'string' || !PLAIN_PATTERN.test(pattern)) return undefined
	const path = pattern.replace(/:(\w+)/g, (_, name) => encodeURIComponent(String(params[name])))
	return path === '/' ? baseUrl || path : baseUrl + path
}
