/**
 * Converts a `fetch` request to what undici's `request` accepts: a flat list of headers, and a body with the content type that `fetch`
 * would set. A `Request` object would do the same but costs more than the request itself.
 */
import { randomUuid } from './random-uuid.ts'
import type { TransportInit } from './transport.ts'

/** A request to one URL; a redirect creates another one. */
export interface WireRequest {
	readonly method: string
	/** Name, value, name, value; names in lower case. */
	readonly headers: readonly string[]
	readonly body: unknown
	/** True if the body can be sent once only. */
	readonly isSingleUse: boolean
}

export function toWireRequest(init: Omit<TransportInit, 'signal'>): WireRequest {
	const method = init.method === 'GET' ? 'GET' : normalizeMethod(init.method)
	const { body } = init
	if (body === undefined || body === null)
		return { method, headers: headerList(init.headers, undefined), body: null, isSingleUse: false }
	if (method === 'GET' || method === 'HEAD') throw new TypeError(`A ${method} request cannot have a body`)
	return {
		method,
		headers: headerList(init.headers, contentTypeOf(body)),
		body: toUndiciBody(body),
		isSingleUse: Symbol.asyncIterator in Object(body),
	}
}

/** As in `fetch`: standard methods in upper case, all others unchanged. */
function normalizeMethod(given: string): string {
	const method = given.toUpperCase()
	if (/^(CONNECT|TRACE|TRACK)$/.test(method)) throw new TypeError(`Method ${method} is not allowed`)
	return /^(DELETE|GET|HEAD|OPTIONS|POST|PUT)$/.test(method) ? method : given
}

/** undici itself reads the type of blobs, which forms become. */
function contentTypeOf(body: BodyInit): string | undefined {
	if (typeof body === 'string') return 'text/plain;charset=UTF-8'
	if (body instanceof URLSearchParams) return 'application/x-www-form-urlencoded;charset=UTF-8'
	return undefined
}

function toUndiciBody(body: BodyInit): unknown {
	if (body instanceof URLSearchParams) return body.toString()
	if (isForm(body)) return formBlob(body)
	// `Response` rejects a stream that was read before, with the message of `fetch`.
	return body instanceof ReadableStream ? new Response(body).body : body
}

/** Adds the headers that `fetch` adds: some servers reject a request without a user agent. */
function headerList(given: TransportInit['headers'], contentType: string | undefined): string[] {
	const list: string[] = []
	let encodings = 'gzip, deflate'
	let accept = true
	let agent = true
	let encoding = true
	let type = contentType !== undefined
	for (const [name, value] of pairs(given)) {
		const lower = name.toLowerCase()
		if (lower === 'accept') accept = false
		else if (lower === 'user-agent') agent = false
		else if (lower === 'accept-encoding') encoding = false
		else if (lower === 'content-type') type = false
		// A range of a compressed body is useless.
		else if (lower === 'range') encodings = 'identity'
		list.push(lower, value)
	}
	if (accept) list.push('accept', '*/*')
	if (agent) list.push('user-agent', 'undici')
	if (encoding) list.push('accept-encoding', encodings)
	if (type && contentType !== undefined) list.push('content-type', contentType)
	return list
}

const NO_PAIRS: [string, string][] = []

function pairs(given: TransportInit['headers']): Iterable<[string, string]> {
	if (!given) return NO_PAIRS
	return given instanceof Headers ? given.entries() : Array.isArray(given) ? given : Object.entries(given)
}

/** Checks the tag, because the platform and undici have different classes. */
function isForm(body: unknown): body is FormData {
	return Object.prototype.toString.call(body) === '[object FormData]'
}

/**
 * Returns a form as the bytes that are sent, with the content type as the blob's type. undici accepts only its own form class and hangs
 * on some with files. A blob has a length, can be sent again after a redirect, and does not read files early.
 * Header names are written as `fetch` writes them, because some servers compare them case-sensitively.
 */
function formBlob(form: FormData): Blob {
	// Unguessable, or the content of a file could pass for another field. Lower case, like every blob type.
	const boundary = `yaoki-${randomUuid()}`
	const parts: BlobPart[] = []
	for (const [name, value] of form.entries()) {
		const head = `--${boundary}\r\nContent-Disposition: form-data; name="${escapeQuotes(withCrLf(name))}"`
		if (typeof value === 'string') parts.push(`${head}\r\n\r\n${withCrLf(value)}\r\n`)
		else {
			const type = value.type || 'application/octet-stream'
			parts.push(
				`${head}; filename="${escapeQuotes(value.name)}"\r\nContent-Type: ${type}\r\n\r\n`,
				value,
				'\r\n',
			)
		}
	}
	parts.push(`--${boundary}--\r\n`)
	return new Blob(parts, { type: `multipart/form-data; boundary=${boundary}` })
}

const withCrLf = (text: string): string => text.replace(/\r?\n|\r/g, '\r\n')

const escapeQuotes = (text: string): string =>
	text.replace(/\n/g, '%0A').replace(/\r/g, '%0D').replace(/"/g, '%22')
