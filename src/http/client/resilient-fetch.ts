import { HTTP_RULES, type HttpOptions, readHttpOptions } from '../options/http-options.ts'
import { type ResilientRequestInit, readRequestOptions } from '../options/request-options.ts'
import { isFetched } from '../origin/origin-parser.ts'
import type { PreparedRequest } from '../request/http-call.ts'
import { currentFetch, markResilientFetch, sendByFetch } from '../transport/fetch-transport.ts'
import { BODY_ALREADY_READ, isBodyUsed } from '../transport/request-body.ts'
import { HttpEngine } from './http-engine.ts'

/** What `resilientFetch` takes. */
export interface ResilientFetchOptions extends HttpOptions {
	/** What sends the requests. Default: the `fetch` of the runtime, looked up for each request. */
	readonly fetch?: typeof fetch | undefined
}

/** `fetch`, with more to say in its init. Fits wherever a `fetch` is asked for. */
export type ResilientFetch = (input: string | URL | Request, init?: ResilientRequestInit) => Promise<Response>

const RULES = { ...HTTP_RULES, fetch: 'function' } as const

/**
 * A `fetch` that survives: the same signature, and it resolves with whatever status comes in the end. Requests that may be repeated are
 * repeated; origins that fail are left alone for a while; every wait and every body has its time. `explain(response)` tells what
 * happened on the way.
 *
 * @example
 * const fetch = resilientFetch({ timeout: 2_000, maxRetries: 2 })
 * const response = await fetch('https://api.example.com/users/7')
 * console.log(response.status, String(explain(response)))
 */
export function resilientFetch(options: ResilientFetchOptions = {}): ResilientFetch {
	const settings = readHttpOptions(options, RULES)
	const engine = new HttpEngine(settings, { refused: ({ response }) => response }, undefined, isFetched)
	const { maxRetries } = settings
	const { fetch: given } = options
	const sender = (): typeof globalThis.fetch => given ?? currentFetch()
	const send: PreparedRequest['send'] = (url, init) => sendByFetch(url, init, sender())
	const fetch: ResilientFetch = (input, init) => {
		try {
			const own = readRequestOptions(init?.yaoki, maxRetries)
			const outgoing = isRequest(input) ? ofRequest(input, init, sender) : ofUrl(input, init, send)
			// Whatever sends them here gives real responses.
			return engine.send(outgoing, own, signalOf(input, init)) as Promise<Response>
		} catch (error) {
			return Promise.reject(error)
		}
	}
	return markResilientFetch(fetch, given)
}

/** By what it has: a Request may be of another class than that of the runtime. */
const isRequest = (input: string | URL | Request): input is Request =>
	typeof input === 'object' && input !== null && 'headers' in input

function signalOf(
	input: string | URL | Request,
	init: ResilientRequestInit | undefined,
): AbortSignal | undefined {
	// Null is an answer as well: not even that of the Request.
	if (init?.signal !== undefined) return init.signal ?? undefined
	return isRequest(input) ? input.signal : undefined
}

function ofUrl(
	input: string | URL,
	init: ResilientRequestInit | undefined,
	send: PreparedRequest['send'],
): PreparedRequest {
	const url = String(input)
	const { method = 'GET', headers, body } = init ?? NO_INIT
	if (isBodyUsed(body)) throw new TypeError(BODY_ALREADY_READ)
	return {
		url,
		method: method.toUpperCase(),
		headers,
		body,
		init: rest(init),
		isSingleUse: false,
		send,
	}
}

/** A Request brings its own body, which is a stream by now and can be sent once. */
function ofRequest(
	request: Request,
	init: ResilientRequestInit | undefined,
	sender: () => typeof fetch,
): PreparedRequest {
	const { method = request.method, headers = request.headers, body } = init ?? NO_INIT
	// To `fetch`, null beside a Request takes nothing away from it.
	const hasBody = (body ?? null) === null && request.body !== null
	if (hasBody && (request.bodyUsed || isBodyUsed(request.body))) throw new TypeError(BODY_ALREADY_READ)
	return {
		url: request.url,
		method: method.toUpperCase(),
		headers,
		body,
		init: rest(init),
		isSingleUse: hasBody,
		send(_, init) {
			const send = sender()
			const first = (_: string, { body: sent, ...others }: RequestInit) =>
				send(request, sent === undefined ? others : { ...others, body: sent })
			return sendByFetch(request.url, init, first, send)
		},
	}
}

const NO_INIT: ResilientRequestInit = {}

/** What is left to `fetch` itself. */
function rest(init: ResilientRequestInit | undefined): RequestInit | undefined {
	if (!init) return undefined
	const { yaoki: _, ...others } = init
	return others as RequestInit
}
