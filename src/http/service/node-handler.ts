import { answerDeadlineExceeded, tellWithHead } from './answers.ts'
import type { NodeResponse } from './client-gone.ts'
import type { NodeRequest } from './incoming.ts'
import { readServerOptions, SERVE_RULES, type ServeOptions } from './options.ts'
import type { ServerContext } from './request-context.ts'
import { openContext } from './server-context.ts'

/** Answers a request that came too late, or goes on with its context. */
type Serve = <T>(
	request: NodeRequest,
	response: NodeResponse,
	next: (context: ServerContext) => T,
) => T | undefined

function serving(options: ServeOptions): Serve {
	const settings = readServerOptions(options, SERVE_RULES)
	const { run } = options
	return (request, response, next) => {
		const context = openContext(request, settings, response)
		if (context.isExpired) {
			answerDeadlineExceeded(response)
			return undefined
		}
		tellWithHead(response, context)
		return run ? run(context, () => next(context)) : next(context)
	}
}

/**
 * Gives a handler of `node:http` the context of its request. Nothing left of the deadline is answered without it.
 *
 * @example
 * createServer(nodeServerContext(async (request, response, context) => {
 *   response.end(await policy.execute(({ signal }) => load(signal), context))
 * }))
 */
export function nodeServerContext<Request extends NodeRequest, Response extends NodeResponse, T>(
	handler: (request: Request, response: Response, context: ServerContext) => T,
	options: ServeOptions = {},
): (request: Request, response: Response) => T | undefined {
	const serve = serving(options)
	return (request, response) => serve(request, response, (context) => handler(request, response, context))
}

/**
 * Middleware for Express, and for what takes the same, such as Connect. Handlers after it ask `serverContextOf(req)`.
 *
 * @example
 * app.use(expressServerContext({ maxDeadlineMs: 10_000, run: withContext }))
 */
export function expressServerContext(
	options: ServeOptions = {},
): (request: NodeRequest, response: NodeResponse, next: () => void) => void {
	const serve = serving(options)
	return (request, response, next) => {
		serve(request, response, () => next())
	}
}
