import type { NodeResponse } from './disconnect.ts'
import { type AnswerableResponse, sendHandlerFailure } from './failing-handler.ts'
import type { NodeRequest } from './normalize-request.ts'
import { MIDDLEWARE_RULES, readServerOptions, type ServerMiddlewareOptions } from './options.ts'
import type { ServerContext } from './request-context.ts'
import { reportExhaustedInHead, sendDeadlineExceeded } from './responses.ts'
import { openContext } from './server-context.ts'

/** Makes the context of a request; answers one that came too late, and makes none. */
function opening(
	options: ServerMiddlewareOptions,
): (request: NodeRequest, response: NodeResponse) => ServerContext | undefined {
	const settings = readServerOptions(options, MIDDLEWARE_RULES)
	return (request, response) => {
		const context = openContext(request, settings, response)
		if (context.isExpired) {
			sendDeadlineExceeded(response)
			return undefined
		}
		reportExhaustedInHead(response, context)
		return context
	}
}

/**
 * Gives a handler of `node:http` the context of its request. Nothing left of the deadline is answered without it. What it throws
 * is told on the console and answered: with 502 when a retry inside gave up, otherwise with 500.
 *
 * @example
 * createServer(nodeServerContext(async (request, response, context) => {
 *   response.end(await policy.execute(({ signal }) => load(signal), context))
 * }))
 */
export function nodeServerContext<Request extends NodeRequest, Response extends AnswerableResponse>(
	handler: (request: Request, response: Response, context: ServerContext) => unknown,
	options: ServerMiddlewareOptions = {},
): (request: Request, response: Response) => Promise<void> {
	const open = opening(options)
	const { run } = options
	return async (request, response) => {
		const context = open(request, response)
		if (!context) return
		const handle = () => handler(request, response, context)
		try {
			await (run ? run(context, handle) : handle())
		} catch (error) {
			sendHandlerFailure(error, response, context)
		}
	}
}

/**
 * Middleware for Express, and for what takes the same, such as Connect. Handlers after it ask `getServerContext(req)`. What they throw
 * is Express's affair: its answer says so when a retry inside gave up.
 *
 * @example
 * app.use(expressServerContext({ maxDeadlineMs: 10_000, run: withContext }))
 */
export function expressServerContext(
	options: ServerMiddlewareOptions = {},
): (request: NodeRequest, response: NodeResponse, next: () => void) => void {
	const open = opening(options)
	const { run } = options
	return (request, response, next) => {
		const context = open(request, response)
		if (!context) return
		if (run) run(context, next)
		else next()
	}
}
