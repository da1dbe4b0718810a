/**
 * Prepares a request to a dispatcher for the engine. undici accepts headers and bodies in many forms. They
 * stay unchanged, so that the request on the wire is the caller's; headers are added in the same form.
 */

import type { BodySource, PreparedRequest, RequestBody, TransportInit } from '../../transport/request.ts'
import type { HttpResponse } from '../../transport/response.ts'
import type { DispatchOptions } from './undici-types.ts'

/** Dispatches one attempt. */
type Open = (options: DispatchOptions, init: TransportInit) => Promise<HttpResponse>

export class DispatchRequest implements PreparedRequest {
	readonly url: string
	readonly method: string
	readonly headers: Record<string, string>
	/** Set only if it is a factory; for other bodies the engine needs only `isSingleUse`. */
	readonly body: RequestBody
	readonly init = undefined
	readonly #options: DispatchOptions
	readonly #source: Source
	readonly #open: Open

	constructor(url: string, options: DispatchOptions, open: Open) {
		const { body, headers } = options
		this.url = url
		this.method = options.method.toUpperCase()
		this.headers = toTable(headers)
		this.body = isFactory(body) ? body : undefined
		this.#options = options
		this.#source = sourceOf(body)
		this.#open = open
	}

	get ownBody(): unknown {
		return this.#options.body
	}

	get isSingleUse(): boolean {
		return this.#source.isUsed()
	}

	send(_: string, init: TransportInit): Promise<HttpResponse> {
		const { headers, body } = init
		const added = Object.entries(headers ?? {}).filter(([name]) => !Object.hasOwn(this.headers, name))
		const sent = {
			...this.#options,
			headers: withAdded(this.#options.headers, added),
			body: this.body ? body : this.#source.body,
		}
		return this.#open(sent, init)
	}
}

const isFactory = (body: unknown): body is () => BodySource | Promise<BodySource> =>
	typeof body === 'function'

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

/** Returns the headers as strings by lower-case name, for the engine. */
function toTable(headers: unknown): Record<string, string> {
	const table: Record<string, string> = {}
	for (const [name, value] of pairs(headers))
		if (value !== undefined) table[String(name).toLowerCase()] = String(value)
	return table
}

function pairs(headers: unknown): Iterable<readonly [unknown, unknown]> {
	if (!isObject(headers)) return []
	if (Array.isArray(headers))
		return Array.from({ length: headers.length / 2 }, (_, i) => [headers[2 * i], headers[2 * i + 1]])
	return isPairs(headers) ? headers : Object.entries(headers)
}

const isPairs = (headers: object): headers is Iterable<readonly [unknown, unknown]> =>
	Symbol.iterator in headers

function withAdded(headers: unknown, added: readonly (readonly [string, string])[]): unknown {
	if (added.length === 0) return headers
	if (Array.isArray(headers)) return [...headers, ...added.flat()]
	if (isObject(headers) && isPairs(headers)) return [...headers, ...added].flat()
	return { ...(isObject(headers) ? headers : {}), ...Object.fromEntries(added) }
}

/** A body as it is dispatched, and whether it has been read. */
interface Source {
	readonly body: unknown
	isUsed(): boolean
}

const never = (): boolean => false

/**
 * Data can be sent again. A stream can be sent again until undici has started to read it: after a failed
 * connection it is still unread. `fetch` turns every body into a generator, so this is the only way to retry
 * its requests with a body.
 */
function sourceOf(body: unknown): Source {
	if (!isObject(body) || ArrayBuffer.isView(body) || isForm(body)) return { body, isUsed: never }
	if ('readableDidRead' in body && 'destroyed' in body)
		return { body, isUsed: () => body.readableDidRead !== false || body.destroyed === true }
	if (isAsyncIterable(body)) {
		let isUsed = false
		const watched = {
			[Symbol.asyncIterator]() {
				isUsed = true
				return body[Symbol.asyncIterator]()
			},
		}
		return { body: watched, isUsed: () => isUsed }
	}
	const isStream = Symbol.iterator in body || 'pipe' in body
	return { body, isUsed: () => isStream }
}

/** undici and the platform have different classes. */
const isForm = (body: object): boolean =>
	Symbol.toStringTag in body && body[Symbol.toStringTag] === 'FormData'

const isAsyncIterable = (body: object): body is AsyncIterable<unknown> => Symbol.asyncIterator in body
