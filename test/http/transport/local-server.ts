import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import * as undici from 'undici'
import { onTestFinished } from 'vitest'
import type { Transport, TransportInit } from '../../../src/http/transport/transport.ts'
import type { UndiciResponse } from '../../../src/http/transport/undici-response.ts'
import { undiciTransport } from '../../../src/http/transport/undici-transport.ts'

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

/** The undici transport with the class of its responses, which its public type hides. */
export const observableTransport = (
	...args: Parameters<typeof undiciTransport>
): ((url: string, init: TransportInit) => Promise<UndiciResponse>) =>
	undiciTransport(...args) as Transport<UndiciResponse>

/** Both accept the same requests and must respond alike. */
export const transports: readonly { readonly name: string; readonly send: Transport }[] = [
	{ name: 'fetch', send: (url, init) => fetch(url, init) },
	{ name: 'undici', send: undiciTransport(undici) },
]

/** A request whose signal is never aborted. */
export const init = (given: Partial<TransportInit> = {}): TransportInit => ({
	method: 'GET',
	signal: new AbortController().signal,
	...given,
})

/** Resolves when pending callbacks have run, and stream errors have been emitted. */
export async function settled(): Promise<void> {
	for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate)
}
