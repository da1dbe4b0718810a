import { RETRIES_EXHAUSTED } from '../headers/retry-headers.ts'
import { MIDDLEWARE_SCHEMA, readServerOptions, type ServerMiddlewareOptions } from './options.ts'
import { deadlineExceededResponse, mustReportExhausted } from './responses.ts'
import { openContext } from './server-context.ts'

/** The part of Hono's context that is used. */
type HonoContext = {
	readonly req: { readonly raw: Request }
	readonly res: Response
	header(name: string, value: string): void
}

/**
 * Creates Hono middleware that reads the caller's deadline and retry headers, and responds with 504 if the
 * deadline has expired. In a handler after it, pass `getServerContext(c)` to your policies and clients, so
 * that they stop when the caller stops waiting.
 *
 * @example
 * import { Hono } from 'hono'
 *
 * const app = new Hono().use(honoServerContext({ maxDeadlineMs: 10_000 }))
 */
export function honoServerContext(
	options: ServerMiddlewareOptions = {},
): (c: HonoContext, next: () => Promise<void>) => Promise<Response | undefined> {
	const settings = readServerOptions(options, MIDDLEWARE_SCHEMA)
	const { run } = options
	return async (c, next) => {
		const context = openContext(c, settings)
		if (context.isExpired) return deadlineExceededResponse()
		try {
			await (run ? run(context, next) : next())
			if (mustReportExhausted(context, c.res.status)) c.header(RETRIES_EXHAUSTED, 'true')
		} finally {
			context.end()
		}
		return undefined
	}
}
