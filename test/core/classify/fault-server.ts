/**
 * Servers on loopback that fail in one given way, so that real clients throw their real errors. They use raw sockets, because
 * node:http cannot interrupt a response in the middle.
 */

import { once } from 'node:events'
import { createServer, type LookupFunction, type Server, type Socket } from 'node:net'
import { listen } from '../../support/listen.ts'

/** Handles a connection of the server. */
export type Fault = (socket: Socket) => void

export interface FaultServer extends AsyncDisposable {
	readonly port: number
	/** `http://127.0.0.1:port` */
	readonly url: string
	/** The same port, with TLS. */
	readonly tlsUrl: string
}

export async function faultServer(fault: Fault): Promise<FaultServer> {
	const sockets = new Set<Socket>()
	const server = createServer((socket) => {
		sockets.add(socket)
		// If the client has disconnected before the fault, the server's socket fails too.
		socket.on('error', () => {})
		fault(socket)
	})
	const port = await listen(server)
	return {
		port,
		url: `http://127.0.0.1:${port}`,
		tlsUrl: `https://127.0.0.1:${port}`,
		async [Symbol.asyncDispose]() {
			for (const socket of sockets) socket.destroy()
			await close(server)
		},
	}
}

async function close(server: Server): Promise<void> {
	server.close()
	await once(server, 'close')
}

/** Returns a port on which no server listens: it was free a moment ago. */
export async function deadPort(): Promise<number> {
	const server = createServer()
	const port = await listen(server)
	await close(server)
	return port
}

const onRequest =
	(respond: (socket: Socket) => void): Fault =>
	(socket) => {
		socket.once('data', () => respond(socket))
	}

const HEAD_OF_100_BYTES = 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n'

export const closeImmediately: Fault = (socket) => socket.end()
export const resetOnRequest = onRequest((socket) => socket.resetAndDestroy())
export const closeOnRequest = onRequest((socket) => socket.end())
export const closeMidHeaders = onRequest((socket) => socket.end(HEAD_OF_100_BYTES.slice(0, 30)))
export const closeAfterHeaders = onRequest((socket) => socket.end(HEAD_OF_100_BYTES))
export const closeMidBody = onRequest((socket) => socket.end(`${HEAD_OF_100_BYTES}half of it`))
export const stallMidBody = onRequest((socket) => socket.write(`${HEAD_OF_100_BYTES}half of it`))
export const neverResponds: Fault = (socket) => socket.resume()
/** Closes the connection after the client's TLS hello. */
export const closeInHandshake: Fault = (socket) => closeOnRequest(socket)

/** Responds to every request of the connection. */
export const respondWith =
	(status: number, body = '', headers: Readonly<Record<string, string>> = {}): Fault =>
	(socket) => {
		const lines = Object.entries({ 'content-length': `${Buffer.byteLength(body)}`, ...headers })
		const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
		socket.on('data', () => socket.write(`HTTP/1.1 ${status} Other\r\n${head}\r\n${body}`))
	}

/** `localhost` as a machine with both families resolves it. A failed connect to several addresses is an AggregateError. */
export const bothLoopbacks: LookupFunction = (_host, _options, callback) =>
	callback(null, [
		{ address: '127.0.0.1', family: 4 },
		{ address: '::1', family: 6 },
	])
