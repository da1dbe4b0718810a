import type { NodeRequest, NodeResponse } from './incoming-request.ts'
import {
	MIDDLEWARE_SCHEMA,
	readServerOptions,
	type ServerContext,
	type ServerMiddlewareOptions,
} from './options.ts'
import {
	DEADLINE_EXCEEDED,
	type ReplaceableResponse,
	reportExhaustedInHead,
	sendHandlerFailure,
	sendJson,
} from './responses.ts'
import { openContext, runNext } from './server-context.ts'

/** Returns a function that creates the context of a request, or responds with 504 and returns undefined. */
function contextOpener(
	options: ServerMiddlewareOptions,
): (request: NodeRequest, response: NodeResponse) => ServerContext | undefined {
	const settings = readServerOptions(options, MIDDLEWARE_SCHEMA)
	return (request, response) => {
		const context = openContext(request, settings, response)
		if (context.isExpired) {
			sendJson(response, DEADLINE_EXCEEDED)
			return undefined
		}
		reportExhaustedInHead(response, context)
		return context
	}
}

/**
 * Wraps a handler of `node:http`: reads the caller's deadline and retry headers, and responds with 504 if the
 * deadline has expired. In the handler, pass `context`, its third argument, to your policies and clients, so
 * that they stop when the caller stops waiting. If the handler throws, the error is logged to the console,
 * and the response is 502 after exhausted retries, otherwise 500.
 *
 * @example
 * import { createServer } from 'node:http'
 *
 * createServer(nodeServerContext(async (request, response, context) => {
 *   response.end(await policy.execute(({ signal }) => load(signal), context))
 * }))
 */
export function nodeServerContext<
	Request extends NodeRequest,
	Response extends NodeResponse & ReplaceableResponse,
>(
	handler: (request: Request, response: Response, context: ServerContext) => unknown,
	options: ServerMiddlewareOptions = {},
): (request: Request, response: Response) => Promise<void> {
	const open = contextOpener(options)
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
 * Creates middleware, for Express and compatible frameworks such as Connect, that reads the caller's deadline
 * and retry headers, and responds with 504 if the deadline has expired. In a handler after it, pass
 * `getServerContext(req)` to your policies and clients, so that they stop when the caller stops waiting.
 * Errors are handled by Express; its response reports exhausted retries.
 *
 * @example
 * app.use(expressServerContext({ maxDeadlineMs: 10_000, run: runWithContext }))
 */
export function expressServerContext(
	options: ServerMiddlewareOptions = {},
): (request: NodeRequest, response: NodeResponse, next: (error?: unknown) => void) => void {
	const open = contextOpener(options)
	const { run } = options
	return (request, response, next) => {
		const context = open(request, response)
		if (context) runNext(run, context, next)
	}
}
