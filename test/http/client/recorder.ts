/** A client without a network: its `fetch` records what is sent. */
import { type HttpClientOptions, ResilientHttpClient } from 'yaoki/http'

export interface Recorder {
	readonly client: ResilientHttpClient
	/** What was sent, as `GET https://...`. */
	readonly sent: string[]
	/** The headers of each request, without the one of the deadline. */
	readonly headers: Record<string, string>[]
}

/** Returns a client whose `fetch` records each request and returns what `respond` returns. */
export function recorder(
	options: HttpClientOptions = {},
	respond: (url: string, init: RequestInit) => Response | Promise<Response> = () => new Response('{}'),
): Recorder {
	const sent: string[] = []
	const headers: Record<string, string>[] = []
	const fetch = async (url: unknown, init: RequestInit = {}): Promise<Response> => {
		sent.push(`${init.method} ${url}`)
		headers.push(Object.fromEntries(new Headers(init.headers)))
		return respond(String(url), init)
	}
	return { client: new ResilientHttpClient({ fetch, deadlineHeader: false, ...options }), sent, headers }
}
