/** Three real servers on the loopback, A -> B -> C. C always responds with 503. A and B make up to three attempts. */
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { type HttpOptions, nodeServerContext, ResilientHttpClient, type ServerContext } from 'yaoki/http'

/** How often B and C were called. */
interface Calls {
	b: number
	c: number
}

export interface Fleet {
	/** The URL of A. */
	readonly url: string
	readonly calls: Calls
	close(): Promise<void>
}

interface Server {
	readonly url: string
	close(): Promise<void>
}

async function listen(listener: RequestListener): Promise<Server> {
	const server = createServer(listener)
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
	const address = server.address()
	const port = typeof address === 'object' ? address?.port : undefined
	return {
		url: `http://127.0.0.1:${port}/`,
		close: () =>
			new Promise((resolve) => {
				server.close(() => resolve())
				server.closeAllConnections()
			}),
	}
}

/** A service that calls the next one. `context` comes from its own caller's headers, if it reads them. */
function calling(client: ResilientHttpClient, nextUrl: string) {
	return async (response: ServerResponse, context?: ServerContext): Promise<void> => {
		try {
			const next = await client.get(nextUrl, { yaoki: { parent: context } })
			response.end(await next.text())
		} catch {
			response.statusCode = 502
			response.end()
		}
	}
}

/** `readsHeaders`: whether the services read their callers' headers. `edge` are options of A alone. */
export async function startFleet(readsHeaders: boolean, edge: HttpOptions = {}): Promise<Fleet> {
	const calls: Calls = { b: 0, c: 0 }
	const options: HttpOptions = { maxRetries: 2, baseDelayMs: 5 }
	const serve = (call: ReturnType<typeof calling>, count = () => {}): Promise<Server> => {
		const handler = nodeServerContext((_: IncomingMessage, response: ServerResponse, context) =>
			call(response, context),
		)
		return listen((request, response) => {
			count()
			return readsHeaders ? handler(request, response) : call(response)
		})
	}
	const c = await listen((_request, response) => {
		calls.c++
		response.writeHead(503).end()
	})
	const b = await serve(calling(new ResilientHttpClient(options), c.url), () => calls.b++)
	const a = await serve(calling(new ResilientHttpClient({ ...options, ...edge }), b.url))
	return {
		url: a.url,
		calls,
		close: async () => {
			for (const server of [a, b, c]) await server.close()
		},
	}
}
