/** Sends requests over real sockets, with full control of headers and chunks. */
import { request as httpRequest, type IncomingHttpHeaders, type RequestOptions } from 'node:http'
import { buffer } from 'node:stream/consumers'

export interface Sent {
	readonly key?: string | string[] | undefined
	readonly body?: string | Uint8Array | undefined
	readonly user?: string
	readonly method?: string
	readonly path?: string
	readonly headers?: Readonly<Record<string, string | string[]>>
}

export interface Received {
	readonly status: number
	readonly headers: IncomingHttpHeaders
	readonly trailers: NodeJS.Dict<string>
	/** Every line of a header. */
	lines(name: string): readonly string[]
	readonly body: Buffer
	/** The member `code` of a problem. */
	readonly code: string | undefined
}

/** The options of a request that has everything except its body. */
export function options({
	key = 'k1',
	user = 'ada',
	method = 'POST',
	headers = {},
}: Sent = {}): RequestOptions {
	const all: Record<string, string | string[]> = {
		'content-type': 'application/json',
		...(user ? { 'x-user': user } : {}),
		...(key.length > 0 ? { 'idempotency-key': key } : {}),
		...headers,
	}
	return { method, headers: all, agent: false }
}

export function send(url: string, sent: Sent = {}): Promise<Received> {
	const { body = sent.method === 'GET' || sent.method === 'HEAD' ? undefined : '{"amount":1}' } = sent
	return new Promise((resolve, reject) => {
		const request = httpRequest(new URL(sent.path ?? '/charges', url), options(sent), (response) => {
			const { statusCode = 0, headers, headersDistinct } = response
			buffer(response).then((received) => {
				const isProblem = headers['content-type']?.startsWith('application/problem+json')
				resolve({
					status: statusCode,
					headers,
					trailers: response.trailers,
					lines: (name) => headersDistinct[name] ?? [],
					body: received,
					code: isProblem ? JSON.parse(received.toString()).code : undefined,
				})
			}, reject)
		})
		request.on('error', reject)
		request.end(body)
	})
}

/** Sends a request and disconnects when `isReady` resolves, or after the first bytes of the response. */
export function sendAndDisconnect(url: string, isReady: Promise<unknown>, sent: Sent = {}): Promise<void> {
	return new Promise((resolve) => {
		const request = httpRequest(new URL('/charges', url), options(sent))
		request.on('error', () => {})
		request.on('close', () => resolve())
		request.end(sent.body ?? '{"amount":1}')
		request.on('response', (response) => response.on('error', () => {}))
		void isReady.then(() => request.destroy())
	})
}
