/** Three real servers on the loopback, A -> B -> C. C is dead: it answers, but only 503. A and B ask the next one up to three times. */
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { type HttpOptions, nodeServerContext, ResilientHttpClient, type ServerContext } from 'yaoki/http'

/** How often each of the two behind A was called. */
interface Calls {
	b: number
	c: number
}

export interface Fleet {
	/** Where users call A. */
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

/** A service that asks the next one. `context` is what its own caller said, if it listens to that. */
function asking(client: ResilientHttpClient, nextUrl: string) {
	return async (response: ServerResponse, context?: ServerContext): Promise<void> => {
		try {
			const answer = await client.get(nextUrl, { yaoki: { parent: context } })
			response.end(await answer.text())
		} catch {
			response.statusCode = 502
			response.end()
		}
	}
}

/** `areTold`: do the services hear what their callers say about deadlines and retries? `edge` are options of A alone. */
export async function startFleet(areTold: boolean, edge: HttpOptions = {}): Promise<Fleet> {
	const calls: Calls = { b: 0, c: 0 }
	const options: HttpOptions = { maxRetries: 2, baseDelayMs: 5 }
	const serve = (ask: ReturnType<typeof asking>, count = () => {}): Promise<Server> => {
		const told = nodeServerContext((_: IncomingMessage, response: ServerResponse, context) =>
			ask(response, context),
		)
		return listen((request, response) => {
			count()
			return areTold ? told(request, response) : ask(response)
		})
	}
	const c = await listen((_request, response) => {
		calls.c++
		response.writeHead(503).end()
	})
	const b = await serve(asking(new ResilientHttpClient(options), c.url), () => calls.b++)
	const a = await serve(asking(new ResilientHttpClient({ ...options, ...edge }), b.url))
	return {
		url: a.url,
		calls,
		close: async () => {
			for (const server of [a, b, c]) await server.close()
		},
	}
}
