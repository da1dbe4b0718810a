/**
 * A request as servers hand it out, told apart by its shape: a web `Request`, Node's message (Express's is one), or something
 * around either, such as Fastify's request and Hono's context. By shape and not by class, since none of them is imported here and some
 * are not there at all where this runs.
 */
import { invalidOption } from '../../core/options/schema.ts'
import type { HeaderReader } from '../headers/deadline-headers.ts'
import { disconnectSignal, type NodeResponse } from './disconnect.ts'

/** What is read of a web `Request`. */
interface WebRequest {
	readonly headers: HeaderReader
	readonly signal?: AbortSignal | undefined
}

/** What is read of Node's `IncomingMessage`, and so of Express's request. */
export interface NodeRequest {
	readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
	readonly socket?: object | null | undefined
}

/** Fastify's request, or Hono's. */
interface Wrapping {
	readonly raw: WebRequest | NodeRequest
}

/** Hono's context. */
interface Carrying {
	readonly req: Wrapping | WebRequest | NodeRequest
}

/** Any of the requests that `createServerContext` takes. */
export type IncomingRequest = WebRequest | NodeRequest | Wrapping | Carrying

export interface NormalizedRequest {
	readonly headers: HeaderReader
	/** The objects that stand for this request, from the one that was given inwards. */
	readonly faces: readonly object[]
	/** The signal of a client that has gone away, made when asked for; undefined where nobody can tell. */
	followClient(response: NodeResponse | undefined, isOver: () => void): AbortSignal | undefined
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

/** What an object holds under a name, if that is an object. A getter that throws holds nothing. */
function held(value: object, name: string): object | undefined {
	try {
		const found: unknown = Reflect.get(value, name)
		return isObject(found) ? found : undefined
	} catch {
		return undefined
	}
}

function isWebRequest(request: object): request is WebRequest {
	const headers = held(request, 'headers')
	return headers !== undefined && 'get' in headers && typeof headers.get === 'function'
}

const isNodeRequest = (request: object): request is NodeRequest => held(request, 'headers') !== undefined

/** The objects from this one to the request itself; undefined when there is none. */
function facesOf(request: object, depth = 0): object[] | undefined {
	if (isWebRequest(request)) return [request]
	// Before its own headers: Fastify's request has some, but not the socket.
	for (const name of depth < 2 ? ['raw', 'req'] : []) {
		const inner = held(request, name)
		const faces = inner && inner !== request ? facesOf(inner, depth + 1) : undefined
		if (faces) return [request, ...faces]
	}
	return isNodeRequest(request) ? [request] : undefined
}

/** Reads a request of any kind. Refuses what is none. */
export function normalizeRequest(given: unknown): NormalizedRequest {
	const faces = isObject(given) ? facesOf(given) : undefined
	const request = faces?.at(-1)
	if (!faces || !request)
		invalidOption(
			'request',
			given,
			"a web Request, Node's IncomingMessage, Fastify's request or Hono's context",
		)
	if (isWebRequest(request)) {
		return { headers: request.headers, faces, followClient: () => request.signal }
	}
	if (!isNodeRequest(request)) invalidOption('request', given, 'a request with headers')
	return {
		headers: { get: (name) => single(request.headers[name]) },
		faces,
		followClient: (response, isOver) => disconnectSignal(request, response, isOver),
	}
}

/** A header that was sent several times is none of those that are read here. */
const single = (value: string | readonly string[] | undefined): string | undefined =>
	typeof value === 'string' ? value : undefined
