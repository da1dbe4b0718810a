/**
 * A request to a dispatcher, as the engine sees it. undici takes headers in several forms and bodies of many kinds; they stay what they are, so
 * that the request on the wire is the caller's, and what is added is added in the same form.
 */

import type { PreparedRequest } from '../../request/http-call.ts'
import type { BodySource, RequestBody } from '../../transport/request-body.ts'
import type { HttpResponse, TransportInit } from '../../transport/transport.ts'
import type { DispatchOptions } from './undici-types.ts'

/** Dispatches one attempt. */
type Open = (options: DispatchOptions, signal: AbortSignal) => Promise<HttpResponse>

export class DispatchRequest implements PreparedRequest {
	readonly url: string
	readonly method: string
	readonly headers: Record<string, string>
	/** Only if it is made for each attempt: of all others the engine needs to know no more than `isOnce`. */
	readonly body: RequestBody
	readonly init = undefined
	readonly #options: DispatchOptions
	readonly #source: Source
	readonly #open: Open

	constructor(url: string, options: DispatchOptions, open: Open) {
		const { body, headers } = options
		this.url = url
		this.method = options.method.toUpperCase()
		this.headers = readable(headers)
		this.body = isMaker(body) ? body : undefined
		this.#options = options
		this.#source = sourceOf(body)
		this.#open = open
	}

	get isSingleUse(): boolean {
		return this.#source.isGone()
	}

	send(_: string, { headers, body, signal }: TransportInit): Promise<HttpResponse> {
		const added = Object.entries(headers ?? {}).filter(([name]) => !Object.hasOwn(this.headers, name))
		const sent = {
			...this.#options,
			headers: withAdded(this.#options.headers, added),
			body: this.body ? body : this.#source.body,
		}
		return this.#open(sent, signal)
	}
}

const isMaker = (body: unknown): body is () => BodySource | Promise<BodySource> => typeof body === 'function'

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

/** Headers as a table of texts, for the engine to look into. */
function readable(headers: unknown): Record<string, string> {
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

/** A body in the form in which it is dispatched, and whether it is used up by now. */
interface Source {
	readonly body: unknown
	isGone(): boolean
}

const never = (): boolean => false

/**
 * Data can be sent again. What flows is gone once somebody has begun to read it, and not before: a request that found no connection may be
 * sent again with it. `fetch` makes a generator of every body, so that this is all that can be repeated of its requests.
 */
function sourceOf(body: unknown): Source {
	if (!isObject(body) || ArrayBuffer.isView(body) || isForm(body)) return { body, isGone: never }
	if ('readableDidRead' in body && 'destroyed' in body)
		return { body, isGone: () => body.readableDidRead !== false || body.destroyed === true }
	if (isAsyncIterable(body)) {
		let isGone = false
		const watched = {
			[Symbol.asyncIterator]() {
				isGone = true
				return body[Symbol.asyncIterator]()
			},
		}
		return { body: watched, isGone: () => isGone }
	}
	const flows = Symbol.iterator in body || 'pipe' in body
	return { body, isGone: () => flows }
}

/** undici's own and the platform's are different classes. */
const isForm = (body: object): boolean =>
	Symbol.toStringTag in body && body[Symbol.toStringTag] === 'FormData'

const isAsyncIterable = (body: object): body is AsyncIterable<unknown> => Symbol.asyncIterator in body
