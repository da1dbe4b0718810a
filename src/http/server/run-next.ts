import type { ServerContext, ServerMiddlewareOptions } from './options.ts'

/**
 * Calls `next` inside the context. An error of `run` goes to the error handler of the framework, also if `run` is an async function: otherwise its
 * rejection would end the process.
 */
export function runNext(
	run: ServerMiddlewareOptions['run'],
	context: ServerContext,
	next: (error?: Error) => void,
): void {
	if (run) Promise.resolve(run<unknown>(context, () => next())).catch(next)
	else next()
}
