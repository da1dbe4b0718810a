import { deadlineExceeded, tellsExhausted } from './answers.ts'
import { readServerOptions, SERVE_RULES, type ServeOptions } from './options.ts'
import { openContext } from './server-context.ts'
import { RETRIES_EXHAUSTED } from './service-headers.ts'

/** What is used of Hono's context. */
interface HonoContext {
	readonly req: { readonly raw: Request }
	readonly res: Response
	header(name: string, value: string): void
}

/**
 * Middleware for Hono. Handlers after it ask `serverContextOf(c)`.
 *
 * @example
 * app.use(honoServerContext({ maxDeadlineMs: 10_000 }))
 */
export function honoServerContext(
	options: ServeOptions = {},
): (c: HonoContext, next: () => Promise<void>) => Promise<Response | undefined> {
	const settings = readServerOptions(options, SERVE_RULES)
	const { run } = options
	return async (c, next) => {
		const context = openContext(c, settings)
		if (context.isExpired) return deadlineExceeded()
		try {
			await (run ? run(context, next) : next())
			if (tellsExhausted(context, c.res.status)) c.header(RETRIES_EXHAUSTED, 'true')
		} finally {
			context.end()
		}
		return undefined
	}
}
