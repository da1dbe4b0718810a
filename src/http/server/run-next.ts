import type { ServerContext, ServerMiddlewareOptions } from './options.ts'

/** Frameworks continue with the handler for an error that is falsy, and Express also for the texts 'route' and 'router'. */
const toError = (thrown: unknown): Error =>
	Object(thrown) === thrown ? (thrown as Error) : new Error('run failed without an error', { cause: thrown })

/**
 * Calls `next` inside the context. An error of `run` goes to the error handler of the framework, also if `run` is an async function: otherwise its
 * rejection would end the process.
 */
export function runNext(
	run: ServerMiddlewareOptions['run'],
	context: ServerContext,
	next: (error?: Error) => void,
): void {
	if (run)
		new Promise((resolve) => resolve(run<unknown>(context, () => next()))).catch((thrown) =>
			next(toError(thrown)),
		)
	else next()
}
