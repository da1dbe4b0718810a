import { checkNames, invalidArgument, isObject } from '../../core/options/schema.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import { systemRuntime } from '../../core/runtime/system.ts'
import { type PrometheusRegistry, type PrometheusText, type ScrapeResponse, Scraper } from './scrape.ts'

/** The part of Node's response that is used; Express and the compatibility API of HTTP/2 have it too. */
type MetricsNodeResponse = {
	statusCode: number
	setHeader(name: string, value: string): unknown
	end(body: string): unknown
}

/** The part of Fastify's reply that is used. */
type MetricsFastifyReply = {
	code(status: number): unknown
	headers(headers: Record<string, string>): unknown
	send(body: string): unknown
}

/** The part of Hono's context that is used. */
type MetricsHonoContext = { readonly req: { readonly raw: Request } }

/** Options of `metricsEndpoint`. */
export interface MetricsEndpointOptions {
	/** The clock. Default: the system's. */
	readonly runtime?: Runtime | undefined
}

/**
 * What `metricsEndpoint` returns: one handler for each kind of server. The handlers do not use `this`, so
 * they can be passed as functions.
 */
export interface MetricsEndpoint {
	/** For Bun, Deno, Workers and Next.js. */
	readonly fetch: (request: Request) => Promise<Response>
	/** For `node:http`, Express and Connect. It responds on every path. */
	readonly node: (request: { readonly method?: string | undefined }, response: MetricsNodeResponse) => void
	/** For a route of Fastify. */
	readonly fastify: (request: { readonly method: string }, reply: MetricsFastifyReply) => Promise<void>
	/** For a route of Hono. */
	readonly hono: (c: MetricsHonoContext) => Promise<Response>
}

/**
 * Creates the handlers of a `/metrics` endpoint for Prometheus, from `inMemoryMetrics()` or from a registry
 * of prom-client. Methods other than GET and HEAD get 405. Concurrent scrapes share one collection. If the
 * metrics cannot be collected, the response is 500 and the error is reported once as a console warning.
 *
 * @example
 * const { node } = metricsEndpoint(inMemoryMetrics())
 * app.use('/metrics', node)
 */
export function metricsEndpoint(
	source: PrometheusText | PrometheusRegistry,
	options: MetricsEndpointOptions = {},
): MetricsEndpoint {
	checkSource(source)
	checkNames(options, { runtime: 'any' }, 'metricsEndpoint')
	const scraper = new Scraper(source, options.runtime ?? systemRuntime)
	const fetch = async (request: Request): Promise<Response> => {
		const { method } = request
		const { status, headers, body } = await scraper.respond(method)
		return new Response(method === 'HEAD' ? null : body, { status, headers })
	}
	return {
		fetch,
		node(request, response) {
			// The response may have been ended meanwhile, for example by a middleware with a timeout.
			scraper
				.respond(request.method)
				.then((scraped) => send(response, scraped))
				.catch((error) => scraper.report(error))
		},
		async fastify(request, reply) {
			const { status, headers, body } = await scraper.respond(request.method)
			reply.code(status)
			reply.headers({ ...headers })
			await reply.send(body)
		},
		hono: (c) => fetch(c.req.raw),
	}
}

function checkSource(source: unknown): void {
	const { toPrometheus, metrics } = (isObject(source) ? source : {}) as Record<string, unknown>
	if (typeof toPrometheus !== 'function' && typeof metrics !== 'function')
		invalidArgument('source', source, 'inMemoryMetrics() or a registry of prom-client')
}

function send(response: MetricsNodeResponse, { status, headers, body }: ScrapeResponse): void {
	response.statusCode = status
	for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
	// Node leaves the body out for HEAD.
	response.end(body)
}
