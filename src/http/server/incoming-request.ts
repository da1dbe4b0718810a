/**
 * Accepts requests of all servers: a web `Request`, Node's message (also Express), or a wrapper around
 * either, such as Fastify's request and Hono's context. They are recognized by shape and not by class,
 * because none of them is imported here and some do not exist in every runtime.
 */
import type { HeaderLookup } from '../../core/headers/header-values.ts'
import { invalidArgument } from '../../core/options/schema.ts'

/** The part of a web `Request` that is used. */
interface WebRequest {
	readonly headers: HeaderLookup
	readonly signal?: AbortSignal | undefined
}

/** The part of Node's `IncomingMessage` that is used, also by Express. */
export type NodeRequest = {
	readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
	readonly socket?: object | null | undefined
}

/** Fastify's request, or Hono's. */
interface RawRequest {
	readonly raw: WebRequest | NodeRequest
}

/** Hono's context. */
interface RequestHolder {
	readonly req: RawRequest | WebRequest | NodeRequest
}

/** Any request that `createServerContext` accepts. */
export type IncomingRequest = WebRequest | NodeRequest | RawRequest | RequestHolder

interface NormalizedRequest {
	readonly headers: HeaderLookup
	/** All objects that represent this request, from the given one inwards. */
	readonly objects: readonly object[]
	/** Returns a signal that is aborted when the client disconnects; undefined if that cannot be detected. */
	disconnectSignal(response: NodeResponse | undefined, onEnd: () => void): AbortSignal | undefined
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

/** Returns an object property, or undefined if it is missing or its getter throws. */
function getObject(value: object, name: string): object | undefined {
	try {
		const found: unknown = Reflect.get(value, name)
		return isObject(found) ? found : undefined
	} catch {
		return undefined
	}
}

function isWebRequest(request: object): request is WebRequest {
	const headers = getObject(request, 'headers')
	return headers !== undefined && 'get' in headers && typeof headers.get === 'function'
}

const isNodeRequest = (request: object): request is NodeRequest => getObject(request, 'headers') !== undefined

/** Returns the objects from this one to the innermost request; undefined if there is no request. */
function unwrap(request: object, depth = 0): object[] | undefined {
	if (isWebRequest(request)) return [request]
	// Before the object's own headers: Fastify's request has headers but no socket.
	for (const name of depth < 2 ? ['raw', 'req'] : []) {
		const inner = getObject(request, name)
		const objects = inner && inner !== request ? unwrap(inner, depth + 1) : undefined
		if (objects) return [request, ...objects]
	}
	return isNodeRequest(request) ? [request] : undefined
}

const EXPECTED = "a web Request, Node's IncomingMessage, Fastify's request or Hono's context"

/** Reads a request of any kind. Throws an InvalidArgumentError for anything else. */
export function normalizeRequest(given: unknown): NormalizedRequest {
	const objects = isObject(given) ? unwrap(given) : undefined
	const request = objects?.at(-1)
	if (!objects || !request) invalidArgument('request', given, EXPECTED)
	if (isWebRequest(request)) {
		return { headers: request.headers, objects, disconnectSignal: () => request.signal }
	}
	if (!isNodeRequest(request)) invalidArgument('request', given, EXPECTED)
	return {
		headers: { get: (name) => singleValue(request.headers[name]) },
		objects,
		disconnectSignal: (response, onEnd) => createDisconnectSignal(request, response, onEnd),
	}
}

/** None of the headers read here may be sent more than once. */
const singleValue = (value: string | readonly string[] | undefined): string | undefined =>
	typeof value === 'string' ? value : undefined

type Closable = {
	once(event: 'close', listener: () => void): unknown
}

/** The part of Node's `ServerResponse` that is used, also by Express. */
export type NodeResponse = Closable & {
	statusCode: number
	/** True if everything was handed to the operating system. Missing in some implementations. */
	readonly writableFinished?: boolean
	readonly writableEnded: boolean
	readonly closed?: boolean
	setHeader(name: string, value: string): unknown
	writeHead(status: number, ...rest: never[]): unknown
	end(body: string): unknown
}

const isClosable = (value: unknown): value is Closable =>
	typeof value === 'object' && value !== null && 'once' in value && typeof value.once === 'function'

/** Checks both, because HTTP/2's response reports a stream as finished that was reset before its end. */
const isSent = ({ writableEnded, writableFinished }: NodeResponse): boolean =>
	writableEnded && writableFinished !== false

/** The abort of the latest request on each connection; earlier ones have been answered. */
const aborts = new WeakMap<object, () => void>()

/**
 * Returns the signal that web requests have and Node's requests do not: aborted when the client disconnects
 * before the response. Only the response shows this reliably, because a request is "closed" as soon as its
 * body has been read. If only the request is available, its connection is observed instead, with one listener
 * for all sequential requests of a connection. `onEnd` is called when the response has been sent or can no
 * longer be sent.
 */
function createDisconnectSignal(
	request: { readonly socket?: object | null | undefined },
	response: NodeResponse | undefined,
	onEnd: () => void,
): AbortSignal | undefined {
	const controller = new AbortController()
	const abort = () => controller.abort(new DOMException('The client has disconnected', 'AbortError'))
	if (response) {
		const close = () => {
			if (!isSent(response)) abort()
			onEnd()
		}
		if (response.closed) close()
		else response.once('close', close)
	} else if (isClosable(request.socket)) observeConnection(request.socket, abort)
	else return undefined
	return controller.signal
}

function observeConnection(connection: Closable, abort: () => void): void {
	if ('destroyed' in connection && connection.destroyed) {
		abort()
		return
	}
	if (!aborts.has(connection)) connection.once('close', () => aborts.get(connection)?.())
	aborts.set(connection, abort)
}
