import {
	MIDDLEWARE_SCHEMA,
	readServerOptions,
	type ServerContext,
	type ServerMiddlewareOptions,
} from './options.ts'
import { deadlineExceededResponse, exhaustedResponse, reportExhausted } from './responses.ts'
import { openContext } from './server-context.ts'

/**
 * Wraps a fetch handler (Deno, Bun, Workers, a route of a web framework): reads the caller's deadline and
 * retry headers, and responds with 504 if the deadline has expired. In the handler, pass `context`, its
 * second argument, to your policies and clients, so that they stop when the caller stops waiting. If the
 * handler throws after exhausted retries, the response is 502. Other errors are left to the platform.
 *
 * @example
 * export default {
 *   fetch: fetchServerContext(async (request, context) => {
 *     return Response.json(await policy.execute(({ signal }) => load(signal), context))
 *   }),
 * }
 */
export function fetchServerContext<Rest extends readonly unknown[]>(
	handler: (request: Request, context: ServerContext, ...rest: Rest) => Response | Promise<Response>,
	options: ServerMiddlewareOptions = {},
): (request: Request, ...rest: Rest) => Promise<Response> {
	const settings = readServerOptions(options, MIDDLEWARE_SCHEMA)
	const { run } = options
	return async (request, ...rest) => {
		const context = openContext(request, settings)
		if (context.isExpired) return deadlineExceededResponse()
		const handle = () => handler(request, context, ...rest)
		try {
			return reportExhausted(await (run ? run(context, handle) : handle()), context)
		} catch (error) {
			return exhaustedResponse(error, context)
		} finally {
			context.end()
		}
	}
}
