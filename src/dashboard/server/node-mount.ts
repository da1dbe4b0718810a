/** The mount for `node:http` and for what is built on it: Express, Connect, NestJS. */
import type { Exchange, JsonBody } from './exchange.ts'
import type { MountSettings } from './mount.ts'
import { BodyReader, parsedBody } from './read-body.ts'
import { clientLeft, invalid, Rejection } from './rejection.ts'
import { respondRejected } from './responses.ts'

/** The part of Node's request that is used. The compatibility API of HTTP/2 has it too. */
export type DashboardNodeRequest = {
	readonly method?: string | undefined
	readonly url?: string | undefined
	readonly httpVersion?: string | undefined
	readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
	readonly readableDidRead: boolean
	readonly socket?: { readonly remoteAddress?: string | undefined } | null | undefined
	on(event: 'data', listener: (chunk: Uint8Array) => void): unknown
	on(event: 'end' | 'error' | 'close', listener: () => void): unknown
	resume(): unknown
}

/** The part of Node's response that is used. */
export type DashboardNodeResponse = {
	statusCode: number
	readonly headersSent: boolean
	readonly destroyed: boolean
	setHeader(name: string, value: string | readonly string[]): unknown
	flushHeaders(): unknown
	write(chunk: Uint8Array): boolean
	end(): unknown
	destroy(error?: Error): unknown
	once(event: string, listener: () => void): unknown
	off(event: string, listener: () => void): unknown
}

/** What frameworks add to a request. */
interface Routed {
	/** The URL before a router has removed its prefix. */
	readonly originalUrl?: string
	/** Set by a body parser. */
	readonly body?: unknown
	readonly socket?: { readonly encrypted?: boolean }
}

/** Responds to a request of Node. Never throws, and no promise rejects. */
export function respondToNode(
	request: DashboardNodeRequest,
	response: DashboardNodeResponse,
	native: object,
	{ basePath, respond, report }: MountSettings,
): void {
	const aborted = new AbortController()
	// Also after a response that was sent as a whole: aborting changes nothing then.
	response.once('close', () => aborted.abort())
	const exchange = nodeExchange(request, native, basePath, aborted.signal)
	const responding =
		exchange instanceof Rejection ? Promise.resolve(respondRejected(exchange)) : respond(exchange)
	responding
		.then((result) => send(response, result))
		.catch((error) => {
			report(error)
			response.destroy()
		})
}

/** A host and its port: no user, path, query or fragment. */
const HOST = /^[^\s/?#@\\]+$/

function nodeExchange(
	raw: DashboardNodeRequest,
	native: object,
	basePath: string | undefined,
	signal: AbortSignal,
): Exchange | Rejection {
	const { originalUrl, socket } = raw as Routed
	const target = originalUrl ?? raw.url ?? '/'
	const [path = '/'] = target.split('?')
	const protocol = socket?.encrypted ? 'https' : 'http'
	try {
		const headers = headersOf(raw)
		const host = headers.get('host') ?? ''
		// `authorize` may read the host and the path of the URL, so neither may come from the other.
		if (!HOST.test(host) || !target.startsWith('/')) return invalid('The request is not valid.')
		const url = new URL(`${protocol}://${host}${target}`)
		const request = new Request(url, { method: raw.method ?? 'GET', headers, signal })
		return {
			request,
			native,
			path,
			base: basePath ?? (baseOf(path, raw.url?.split('?')[0] ?? '/') || undefined),
			keepsSlash: true,
			peer: { address: raw.socket?.remoteAddress, httpVersion: raw.httpVersion },
			readBody: () => readNodeBody(raw),
		}
	} catch {
		// An invalid host, a method such as TRACE that no web request may have, or a header that a middleware has set.
		return invalid('The request is not valid.')
	}
}

/** HTTP/2 has pseudo headers, of which the host is one. */
function headersOf({ headers: given }: DashboardNodeRequest): Headers {
	const headers = new Headers()
	for (const [name, value] of Object.entries(given)) {
		const field = name === ':authority' ? 'host' : name
		if (!field.startsWith(':') && value !== undefined) headers.set(field, String(value))
	}
	return headers
}

/** The path that a router has removed. Empty if it has removed none, or if there is no router. */
function baseOf(path: string, routed: string): string {
	if (path.endsWith(routed)) return path.slice(0, -routed.length)
	return routed === '/' ? path : ''
}

/** A body parser of the framework may have read the body before. */
function readNodeBody(request: DashboardNodeRequest): Promise<JsonBody | Rejection> {
	const { body: parsed } = request as Routed
	if (request.readableDidRead) return Promise.resolve(parsedBody(parsed))
	const body = new BodyReader()
	return new Promise((resolve) => {
		const leave = () => resolve(clientLeft())
		// After the limit the rest is read and dropped: a client that is still sending would not see a response.
		request.on('data', (chunk) => {
			if (!body.add(chunk)) resolve(body.result())
		})
		request.on('end', () => resolve(body.result()))
		request.on('error', leave)
		request.on('close', leave)
		request.resume()
	})
}

/** Sends a web response. It reads on when the client has read, so that nothing piles up. */
async function send(response: DashboardNodeResponse, { status, headers, body }: Response): Promise<void> {
	response.statusCode = status
	for (const [name, value] of headers) response.setHeader(name, value)
	if (!body) {
		response.end()
		return
	}
	const reader = body.getReader()
	const leave = () => {
		reader.cancel().catch(() => undefined)
	}
	response.once('close', leave)
	// A stream that ends with an error while its client does not read.
	reader.closed.catch(() => response.destroy())
	response.flushHeaders()
	while (!response.destroyed) {
		const { done, value } = await reader.read()
		if (done) break
		if (!response.write(value)) await drained(response)
	}
	response.off('close', leave)
	response.end()
}

/** Waits until the client has read, or has disconnected. */
const drained = (response: DashboardNodeResponse): Promise<void> =>
	new Promise((resolve) => {
		const end = () => {
			response.off('drain', end)
			response.off('close', end)
			resolve()
		}
		response.once('drain', end)
		response.once('close', end)
	})
