/**
 * The two ways to send a request behind one interface, so that one suite tests both: `resilientFetch` and a client.
 */
import * as undici from 'undici'
import {
	HttpError,
	type ResilientFetch,
	type ResilientFetchOptions,
	ResilientHttpClient,
	resilientFetch,
} from 'yaoki/http'

export interface SenderOptions extends ResilientFetchOptions {
	/** The undici pool for the requests. Default: the global one. */
	readonly dispatcher?: undici.Dispatcher | undefined
}

export type Make = (options: SenderOptions) => ResilientFetch

export const byFetch: Make = ({ dispatcher, ...options }) =>
	resilientFetch({ ...(dispatcher && { fetch: through(dispatcher) }), ...options })

export const byClient: Make = ({ dispatcher, ...options }) => {
	const client = new ResilientHttpClient({ ...(dispatcher && { fetch: through(dispatcher) }), ...options })
	const send: unknown = (url: string | URL, init?: object) => client.request(url, init).catch(answerOf)
	return send as ResilientFetch
}

/** A client throws where `fetch` returns a response. The response is in the error, but its body has been read. */
function answerOf(error: unknown): Response {
	if (!(error instanceof HttpError)) throw error
	if (!error.response) throw error
	return Object.defineProperty(error.response, 'text', { value: async () => error.body })
}

/** undici's `fetch` with its own pool. Its `Response` type is the same as the platform's. */
function through(dispatcher: undici.Dispatcher): typeof fetch {
	const send: unknown = (url: string, init: object) => undici.fetch(url, { ...init, dispatcher })
	return send as typeof fetch
}
