/** The same small service behind every adapter, on a real socket, so that one table of scenarios tests all of them. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { getRequestListener } from '@hono/node-server'
import { onTestFinished } from 'vitest'
import {
	fetchIdempotency,
	type IdempotencyContext,
	type IdempotencyEngine,
	type IdempotencyOptions,
	idempotency,
	memoryIdempotencyStore,
	nodeIdempotency,
} from '../../../src/idempotency/index.ts'
import { listen } from '../../support/listen.ts'

export interface Reply {
	readonly status?: number
	readonly headers?: readonly (readonly [name: string, value: string])[]
	readonly body?: string | Uint8Array | AsyncIterable<Uint8Array> | null
}

/** Returns a reply, or the response of a transaction. */
export type Service = (
	context: IdempotencyContext,
	body: Buffer,
) => Reply | Response | Promise<Reply | Response>

export type Start = (engine: IdempotencyEngine, service: Service) => Promise<string>

export interface Setup {
	readonly engine: IdempotencyEngine
	readonly url: string
	calls(): number
}

/** Starts a server that counts the calls of its service and is closed after the test. */
export async function setup(
	start: Start,
	service: Service,
	options: Partial<IdempotencyOptions> = {},
): Promise<Setup> {
	let calls = 0
	const engine = idempotency({ store: memoryIdempotencyStore(), principal: userOf, waitMs: 0, ...options })
	const url = await start(engine, (...args) => {
		calls++
		return service(...args)
	})
	return { engine, url, calls: () => calls }
}

/** Reads the header of every framework's request. Real services never trust such a header. */
export function userOf({ raw }: { readonly raw: unknown }): string | undefined {
	const holder = raw as { req?: { raw?: Request }; headers?: Headers | Record<string, string> }
	const headers = holder.req?.raw?.headers ?? holder.headers
	const user = headers instanceof Headers ? headers.get('x-user') : headers?.['x-user']
	return user ?? undefined
}

/** Listens until the test ends. */
export async function listening(server: Server): Promise<string> {
	const port = await listen(server)
	onTestFinished(
		() =>
			new Promise<void>((resolve) => {
				server.close(() => resolve())
				server.closeAllConnections()
			}),
	)
	return `http://127.0.0.1:${port}`
}

const startNode: Start = (engine, service) => {
	const listener = nodeIdempotency(
		engine,
		async (request: IncomingMessage, response: ServerResponse, context) => {
			const reply = await service(context, await buffer(request))
			if (reply instanceof Response) return
			const { status = 200, headers = [], body = null } = reply
			response.statusCode = status
			for (const [name, value] of headers) response.appendHeader(name, value)
			if (body === null || typeof body === 'string' || body instanceof Uint8Array) response.end(body)
			else
				Readable.from(body)
					.on('error', () => response.destroy())
					.pipe(response)
		},
	)
	return listening(createServer(listener))
}

/** A reply as a web response. */
export function toWebResponse(reply: Reply | Response): Response {
	if (reply instanceof Response) return reply
	const { status = 200, headers = [], body = null } = reply
	const isPlain = body === null || typeof body === 'string' || body instanceof Uint8Array
	return new Response(
		isPlain ? (body as BodyInit | null) : (Readable.toWeb(Readable.from(body)) as ReadableStream),
		{
			status,
			headers: headers.map(([name, value]): [string, string] => [name, value]),
		},
	)
}

const startFetch: Start = (engine, service) => {
	const handle = fetchIdempotency(engine, async (request: Request, context) => {
		const body = Buffer.from(await request.arrayBuffer())
		return toWebResponse(await service(context, body))
	})
	const respond = (request: Request) => handle(request).catch(() => new Response('failed', { status: 500 }))
	return listening(createServer(getRequestListener(respond, { overrideGlobalObjects: false })))
}

export const servers: readonly (readonly [name: string, start: Start])[] = [
	['node:http', startNode],
	['a fetch handler', startFetch],
]
