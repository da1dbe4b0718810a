import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { resilientFetch } from 'yaoki/http'

/** One request as the server saw it. */
interface Seen {
	readonly method: string
	readonly path: string
	readonly headers: IncomingHttpHeaders
	readonly body: Buffer
}

export interface LocalServer {
	/** Without a slash at the end. */
	readonly url: string
	readonly seen: Seen[]
	readonly sockets: Socket[]
}

export type Handler = (seen: Seen, response: ServerResponse) => void

async function read(request: IncomingMessage): Promise<Seen> {
	const chunks: Buffer[] = []
	for await (const chunk of request) chunks.push(chunk)
	const { method = '', url: path = '', headers } = request
	return { method, path, headers, body: Buffer.concat(chunks) }
}

/** A server on its own port, closed after the test. The handler runs when the whole request has arrived. */
export async function serve(handler: Handler = (_, response) => response.end('ok')): Promise<LocalServer> {
	const seen: Seen[] = []
	const sockets: Socket[] = []
	const server = createServer((request, response) => {
		read(request).then(
			(one) => {
				seen.push(one)
				handler(one, response)
			},
			// The client disconnected while sending.
			() => {},
		)
	})
	server.on('connection', (socket) => sockets.push(socket))
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
	onTestFinished(() => {
		server.closeAllConnections()
		server.close()
	})
	return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen, sockets }
}

export type Send = (url: string, init: RequestInit) => Promise<Response>

/** Both accept the same requests and must respond alike. */
export const SENDERS: readonly { readonly name: string; readonly send: Send }[] = [
	{ name: 'fetch', send: (url, init) => fetch(url, init) },
	{ name: 'resilientFetch', send: resilientFetch({ maxRetries: 0 }) },
]

/** A request whose signal is never aborted. */
export const init = (given: RequestInit & { readonly duplex?: 'half' } = {}): RequestInit => ({
	method: 'GET',
	signal: new AbortController().signal,
	...given,
})

/** Resolves when pending callbacks have run, and stream errors have been emitted. */
export async function settled(): Promise<void> {
	for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate)
}
