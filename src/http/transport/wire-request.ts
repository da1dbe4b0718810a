/**
 * A `fetch` request in the form that undici's `request` takes: a flat list of headers, and a body with the content type
 * that `fetch` would give it. Written out by hand, since a `Request` would do it all but costs more than the request.
 */
import { formBlob, isForm } from './form-blob.ts'
import type { TransportInit } from './transport.ts'

/** What is sent to one address; a redirect sends another one. */
export interface WireRequest {
	readonly method: string
	/** Name, value, name, value, with the names in lower case. */
	readonly headers: readonly string[]
	readonly body: unknown
	/** Is the body gone once it was sent? */
	readonly isSingleUse: boolean
}

export function toWireRequest(init: Omit<TransportInit, 'signal'>): WireRequest {
	const method = init.method === 'GET' ? 'GET' : methodFor(init.method)
	const { body } = init
	if (body === undefined || body === null)
		return { method, headers: headerList(init.headers, undefined), body: null, isSingleUse: false }
	if (method === 'GET' || method === 'HEAD') throw new TypeError(`a ${method} request can not have a body`)
	return {
		method,
		headers: headerList(init.headers, typeOf(body)),
		body: sendable(body),
		isSingleUse: Symbol.asyncIterator in Object(body),
	}
}

/** `fetch` writes these in capitals, and leaves every other method as it was given. */
function methodFor(given: string): string {
	const method = given.toUpperCase()
	if (/^(CONNECT|TRACE|TRACK)$/.test(method)) throw new TypeError(`${method} can not be sent`)
	return /^(DELETE|GET|HEAD|OPTIONS|POST|PUT)$/.test(method) ? method : given
}

/** Blobs are absent, and forms, which become blobs: undici reads their type itself. */
function typeOf(body: BodyInit): string | undefined {
	if (typeof body === 'string') return 'text/plain;charset=UTF-8'
	if (body instanceof URLSearchParams) return 'application/x-www-form-urlencoded;charset=UTF-8'
	return undefined
}

function sendable(body: BodyInit): unknown {
	if (body instanceof URLSearchParams) return body.toString()
	if (isForm(body)) return formBlob(body)
	// The platform knows whether a stream was read before, and refuses it with the words of `fetch`.
	return body instanceof ReadableStream ? new Response(body).body : body
}

/** What `fetch` sends as well, and servers look at: some refuse a request that does not name its agent. */
const ACCEPT = 'accept'
const AGENT = 'user-agent'
const ENCODING = 'accept-encoding'
const TYPE = 'content-type'

function headerList(given: TransportInit['headers'], contentType: string | undefined): string[] {
	const list: string[] = []
	let encodings = 'gzip, deflate'
	let accept = true
	let agent = true
	let encoding = true
	let type = contentType !== undefined
	for (const [name, value] of pairs(given)) {
		const lower = name.toLowerCase()
		if (lower === ACCEPT) accept = false
		else if (lower === AGENT) agent = false
		else if (lower === ENCODING) encoding = false
		else if (lower === TYPE) type = false
		// A range of a compressed body would be of no use.
		else if (lower === 'range') encodings = 'identity'
		list.push(lower, value)
	}
	if (accept) list.push(ACCEPT, '*/*')
	if (agent) list.push(AGENT, 'undici')
	if (encoding) list.push(ENCODING, encodings)
	if (type && contentType !== undefined) list.push(TYPE, contentType)
	return list
}

const NONE: [string, string][] = []

function pairs(given: TransportInit['headers']): Iterable<[string, string]> {
	if (!given) return NONE
	return given instanceof Headers ? given.entries() : Array.isArray(given) ? given : Object.entries(given)
}
