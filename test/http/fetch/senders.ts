/**
 * The two ways in which a request reaches the wire, with one face, so that one suite tests both: `resilientFetch` over the `fetch`
 * of the runtime, and a client over undici's `request`. The second is the client and not a `resilientFetch` with another
 * `fetch` under it, since that is what people use, and only a client sends without a signal.
 */
import * as undici from 'undici'
import {
	type HttpResponse,
	HttpStatusError,
	type ResilientFetch,
	type ResilientFetchOptions,
	ResilientHttpClient,
	resilientFetch,
	undiciTransport,
} from 'yaoki/http'

export interface SenderOptions extends ResilientFetchOptions {
	/** The pool of undici that the requests go through. Default: that of all. */
	readonly dispatcher?: undici.Dispatcher | undefined
}

export type Make = (options: SenderOptions) => ResilientFetch

export const byFetch: Make = ({ dispatcher, ...options }) =>
	resilientFetch(dispatcher ? { ...options, fetch: through(dispatcher) } : options)

export const byClient: Make = ({ dispatcher, fetch: _, ...options }) => {
	const transport = undiciTransport(undici, { dispatcher, runtime: options.runtime })
	const client = new ResilientHttpClient<HttpResponse>({ ...options, transport })
	const send: unknown = (url: string | URL, init?: object) => client.request(url, init).catch(answerOf)
	return send as ResilientFetch
}

/** A client throws what `fetch` gives back. The answer is in the error, but its body has been read by then. */
function answerOf(error: unknown): HttpResponse {
	if (!(error instanceof HttpStatusError)) throw error
	return Object.defineProperty(error.response, 'text', { value: async () => error.body })
}

/** The `fetch` of undici with a pool of its own. Two packages say `Response`, and mean the same. */
function through(dispatcher: undici.Dispatcher): typeof fetch {
	const send: unknown = (url: string, init: object) => undici.fetch(url, { ...init, dispatcher })
	return send as typeof fetch
}
