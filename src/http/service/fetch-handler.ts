import { deadlineExceeded, told } from './answers.ts'
import { answerGivenUp } from './failing-handler.ts'
import { readServerOptions, SERVE_RULES, type ServeOptions } from './options.ts'
import type { ServerContext } from './request-context.ts'
import { openContext } from './server-context.ts'

/**
 * Gives a fetch handler (Deno, Bun, Workers, a route of a web framework) the context of its request. Nothing left of the deadline is
 * answered without it, and so is, with 502, what it throws after a retry inside gave up. Other errors are the platform's affair.
 *
 * @example
 * export default {
 *   fetch: withServerContext(async (request, context) => {
 *     return Response.json(await policy.execute(({ signal }) => load(signal), context))
 *   }),
 * }
 */
export function withServerContext<Rest extends readonly unknown[]>(
	handler: (request: Request, context: ServerContext, ...rest: Rest) => Response | Promise<Response>,
	options: ServeOptions = {},
): (request: Request, ...rest: Rest) => Promise<Response> {
	const settings = readServerOptions(options, SERVE_RULES)
	const { run } = options
	return async (request, ...rest) => {
		const context = openContext(request, settings)
		if (context.isExpired) return deadlineExceeded()
		const handle = () => handler(request, context, ...rest)
		try {
			return told(await (run ? run(context, handle) : handle()), context)
		} catch (error) {
			return answerGivenUp(error, context)
		} finally {
			context.end()
		}
	}
}
