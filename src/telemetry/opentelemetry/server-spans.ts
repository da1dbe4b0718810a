/**
 * Spans of kind SERVER for incoming HTTP requests, by the semantic conventions for HTTP. They are middleware
 * of their own, outside the server contexts and idempotency adapters, because a request that these reject or
 * answer themselves has a span too.
 */
import { methodOf, requestName } from './http-request.ts'
import type { StartedSpan, Tracing } from './tracing.ts'
import { type Ended, watchResult } from './watch-result.ts'

/** The part of Node's request that is used, also by Express and Connect. */
type TracedNodeRequest = {
	readonly method?: string | undefined
	readonly url?: string | undefined
	/** Set by Express: the path before a router has removed its own part. */
	readonly originalUrl?: string | undefined
	readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
	readonly socket?: object | null | undefined
}

/** The part of Node's response that is used, also by Express and Connect. */
type TracedNodeResponse = {
	readonly statusCode: number
	readonly headersSent: boolean
	readonly closed?: boolean
	once(event: 'close', listener: () => void): unknown
}

/** The part of Fastify's request that is used. */
type TracedFastifyRequest = {
	readonly raw: TracedNodeRequest
	readonly routeOptions?: { readonly url?: string | undefined } | undefined
}

/** The part of a Fastify instance that is used. */
type TracedFastifyApp = {
	addHook(
		name: 'onRequest',
		hook: (
			request: TracedFastifyRequest,
			reply: { readonly raw: TracedNodeResponse },
			done: () => void,
		) => void,
	): unknown
}

/** The part of Hono's context that is used. */
type TracedHonoContext = {
	readonly req: { readonly raw: Request }
	readonly res: Response
	/** The error of the handler, if Hono has made a response of it. */
	readonly error?: Error | undefined
}

/**
 * Creates the spans of incoming requests, for each kind of server: `server` of what `openTelemetry` returns.
 * The functions do not use `this`.
 */
export interface OpenTelemetryServer {
	/** Wraps a handler of `node:http`. */
	readonly node: <Request extends TracedNodeRequest, Response extends TracedNodeResponse>(
		handler: (request: Request, response: Response) => unknown,
	) => (request: Request, response: Response) => unknown
	/** Middleware for Express and Connect. */
	readonly express: (request: TracedNodeRequest, response: TracedNodeResponse, next: () => void) => void
	/** A plugin for Fastify, which applies to the instance it is registered with. */
	readonly fastify: (app: TracedFastifyApp, options: object, done: () => void) => void
	/** Middleware for Hono. */
	readonly hono: (c: TracedHonoContext, next: () => Promise<void>) => Promise<void>
	/** Wraps a fetch handler: Deno, Bun, Workers, a route of a web framework. */
	readonly fetch: <Rest extends readonly unknown[]>(
		handler: (request: Request, ...rest: Rest) => Response | Promise<Response>,
	) => (request: Request, ...rest: Rest) => Response | Promise<Response>
}

interface ServerRequest {
	readonly method: string
	readonly path: string
	readonly scheme: string
	readonly headers: object
	/** The pattern of the path, such as `/users/:id`. */
	readonly route?: string | undefined
}

interface Route {
	readonly method: string
	readonly pattern: string
}

interface ServerResult {
	readonly status?: number | undefined
	readonly error?: unknown
	/** Set if the route was not known when the request began. */
	readonly route?: Route | undefined
}

/** If spans are off, requests only pass through. */
export function openTelemetryServer(tracing: Tracing): OpenTelemetryServer {
	/** Runs `next` in the span of a request of Node. The span ends with the response. */
	const runNode = (
		request: TracedNodeRequest,
		response: TracedNodeResponse,
		next: () => unknown,
		route?: string,
	): unknown => {
		const started = startSpan(tracing, () => ({ ...fromNode(request), route }))
		if (!started) return next()
		// Listeners of request and response run in the context of the connection. Fastify calls the handler of a
		// request with a body in one of them.
		for (const emitter of [request, response])
			tracing.guard('bind', 'the listeners of a request do not run in its span', () => {
				tracing.api.context.bind?.(started.context, emitter)
			})
		const end = () =>
			endSpan(tracing, started, () => ({
				// A client that disconnects gets no response.
				...(response.headersSent && { status: response.statusCode }),
				route: routeOfExpress(request),
			}))
		tracing.guard('response', 'the end of a response cannot be observed', () => {
			if (response.closed) end()
			else response.once('close', end)
		})
		return tracing.run(started, next)
	}

	/** Runs `next` in the span of a web request. The span ends with the result of `next`. */
	const runWeb = (request: Request, next: () => unknown, resultOf: (ended: Ended) => ServerResult) => {
		const started = startSpan(tracing, () => fromWeb(request))
		if (!started) return next()
		return watchResult(
			() => tracing.run(started, next),
			(ended) => endSpan(tracing, started, () => resultOf(ended)),
		)
	}

	const fastify = (app: TracedFastifyApp, _: object, done: () => void): void => {
		app.addHook('onRequest', (request, reply, next) => {
			runNode(request.raw, reply.raw, next, request.routeOptions?.url)
		})
		done()
	}

	return {
		node: (handler) => (request, response) => runNode(request, response, () => handler(request, response)),
		express: (request, response, next) => void runNode(request, response, () => next()),
		// Otherwise Fastify would apply the hook only inside the plugin.
		fastify: Object.assign(fastify, { [Symbol.for('skip-override')]: true }),
		hono: async (c, next) => {
			await runWeb(c.req.raw, next, (ended) =>
				'error' in ended ? ended : { status: c.res.status, error: c.error },
			)
		},
		fetch:
			(handler) =>
			(request, ...rest) =>
				runWeb(
					request,
					() => handler(request, ...rest),
					(ended) => ('error' in ended ? ended : { status: (ended.value as Response).status }),
				) as Response | Promise<Response>,
	}
}

/** Starts a child of the caller's span. Returns undefined if an instrumentation has started one. */
function startSpan(tracing: Tracing, read: () => ServerRequest): StartedSpan | undefined {
	const { api } = tracing
	try {
		const active = api.context.active()
		if (!tracing.isOn || api.trace.getSpan(active)) return undefined
		const { method, path, scheme, headers, route } = read()
		const known = methodOf(method)
		const attributes = {
			'http.request.method': known,
			...(known !== method && { 'http.request.method_original': method }),
			'url.path': path,
			'url.scheme': scheme,
			...(route !== undefined && { 'http.route': route }),
		}
		const parent = api.propagation.extract(active, headers)
		return tracing.start(spanName(method, route), { kind: api.SpanKind.SERVER, attributes }, parent)
	} catch (error) {
		tracing.report('request', 'the span of a request could not be started', error)
		return undefined
	}
}

/** A status of 4xx is an error of the client, not of the server. */
function endSpan(tracing: Tracing, started: StartedSpan, read: () => ServerResult): void {
	tracing.end(started, (span) => {
		const { status, error, route } = read()
		if (route) {
			span.setAttributes({ 'http.route': route.pattern })
			span.updateName(spanName(route.method, route.pattern))
		}
		if (status !== undefined) span.setAttributes({ 'http.response.status_code': status })
		if (status === undefined ? error === undefined : status < 500) return
		tracing.fail(span, error, status === undefined ? undefined : `${status}`, error !== undefined)
		if (error !== undefined) tracing.recordException(span, error)
	})
}

/** A name with the path would have too many values. */
const spanName = (method: string, route: string | undefined): string =>
	route === undefined ? requestName(method) : `${requestName(method)} ${route}`

const withoutQuery = (url: string): string => url.split(/[?#]/, 1)[0] ?? url

function fromNode(request: TracedNodeRequest): ServerRequest {
	const { method = 'GET', url = '/', originalUrl = url, headers, socket } = request
	const isEncrypted = Object(socket).encrypted === true
	return { method, path: withoutQuery(originalUrl), scheme: isEncrypted ? 'https' : 'http', headers }
}

function fromWeb({ method, url, headers }: Request): ServerRequest {
	const { pathname, protocol } = new URL(url)
	return { method, path: pathname, scheme: protocol.slice(0, -1), headers: Object.fromEntries(headers) }
}

/** Known when a route has matched; the router of a path such as `/api` has the first part of it. */
function routeOfExpress(request: TracedNodeRequest): Route | undefined {
	const { baseUrl = '', route } = request as { baseUrl?: unknown; route?: { path?: unknown } }
	if (typeof baseUrl !== 'string' || typeof route?.path !== 'string') return undefined
	return { method: request.method ?? 'GET', pattern: `${baseUrl}${route.path}` }
}
