/**
 * Accepts requests of all servers: a web `Request`, Node's message (also Express), or a wrapper around either, such as Fastify's request
 * and Hono's context. They are recognized by shape and not by class, because none of them is imported here and some do not exist in
 * every runtime.
 */

import type { HeaderLookup } from '../../core/headers/header-values.ts'
import { invalidArgument } from '../../core/options/schema.ts'
import { createDisconnectSignal, type NodeResponse } from './disconnect.ts'

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
