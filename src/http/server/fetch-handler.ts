import { exhaustedResponse } from './failing-handler.ts'
import { MIDDLEWARE_RULES, readServerOptions, type ServerMiddlewareOptions } from './options.ts'
import type { ServerContext } from './request-context.ts'
import { deadlineExceededResponse, reportExhausted } from './responses.ts'
import { openContext } from './server-context.ts'

/**
 * Gives a fetch handler (Deno, Bun, Workers, a route of a web framework) the context of its request. Nothing left of the deadline is
 * answered without it, and so is, with 502, what it throws after a retry inside gave up. Other errors are the platform's affair.
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
	const settings = readServerOptions(options, MIDDLEWARE_RULES)
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
