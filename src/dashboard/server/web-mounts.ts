/** The mounts for web requests: fetch handlers, and Hono, which knows more. */
import type { Exchange } from './exchange.ts'
import type { MountSettings } from './mount.ts'
import { parsedBody, readWebBody } from './read-body.ts'

/** The part of Hono's context that is used. */
export type DashboardHonoContext = {
	readonly req: {
		readonly raw: Request
		/** The pattern of the route, such as `/ops/retries/*`. */
		readonly routePath?: string
		text(): Promise<string>
	}
	/** With `@hono/node-server` it has the request of Node. */
	readonly env?: unknown
}

export function fetchExchange(request: Request, { basePath }: MountSettings): Exchange {
	return {
		request,
		native: request,
		path: new URL(request.url).pathname,
		base: basePath,
		keepsSlash: false,
		peer: undefined,
		readBody: () => readWebBody(request),
	}
}

export function honoExchange(c: DashboardHonoContext, settings: MountSettings): Exchange {
	const { raw } = c.req
	const { incoming } = Object(c.env)
	return {
		...fetchExchange(raw, settings),
		native: c,
		base: settings.basePath ?? baseOf(raw, c.req.routePath),
		keepsSlash: true,
		peer: incoming && {
			address: incoming.socket?.remoteAddress,
			httpVersion: incoming.httpVersion,
		},
		// Hono keeps what a middleware has read.
		readBody: async () => (raw.bodyUsed ? parsedBody(await c.req.text()) : readWebBody(raw)),
	}
}

/** A pattern without parameters says what comes before its wildcard. */
const MOUNTED = /^(\/[^:*?{]+)\/\*$/

function baseOf({ url }: Request, pattern = ''): string | undefined {
	const base = MOUNTED.exec(pattern)?.[1]
	const { pathname } = new URL(url)
	return base !== undefined && (pathname === base || pathname.startsWith(`${base}/`)) ? base : undefined
}
