import { answerDeadlineExceeded, tellWithHead } from './answers.ts'
import type { NodeResponse } from './client-gone.ts'
import { type AnswerableResponse, answerFailed } from './failing-handler.ts'
import type { NodeRequest } from './incoming.ts'
import { readServerOptions, SERVE_RULES, type ServeOptions } from './options.ts'
import type { ServerContext } from './request-context.ts'
import { openContext } from './server-context.ts'

/** Makes the context of a request; answers one that came too late, and makes none. */
function opening(
	options: ServeOptions,
): (request: NodeRequest, response: NodeResponse) => ServerContext | undefined {
	const settings = readServerOptions(options, SERVE_RULES)
	return (request, response) => {
		const context = openContext(request, settings, response)
		if (context.isExpired) {
			answerDeadlineExceeded(response)
			return undefined
		}
		tellWithHead(response, context)
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
	options: ServeOptions = {},
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
			answerFailed(error, response, context)
		}
	}
}

/**
 * Middleware for Express, and for what takes the same, such as Connect. Handlers after it ask `serverContextOf(req)`. What they throw
 * is Express's affair: its answer says so when a retry inside gave up.
 *
 * @example
 * app.use(expressServerContext({ maxDeadlineMs: 10_000, run: withContext }))
 */
export function expressServerContext(
	options: ServeOptions = {},
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
