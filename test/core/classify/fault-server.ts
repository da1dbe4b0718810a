/**
 * Servers on loopback that fail in one chosen way, so that real clients throw their real errors. Raw sockets and not
 * node:http, which is too well-behaved to cut an answer in two.
 */

import { once } from 'node:events'
import { createServer, type LookupFunction, type Server, type Socket } from 'node:net'
import { listen } from '../../listen.ts'

/** What the server does with a connection. */
export type Fault = (socket: Socket) => void

export interface FaultServer extends AsyncDisposable {
	readonly port: number
	/** `http://127.0.0.1:port` */
	readonly url: string
	/** The same port, spoken to in TLS. */
	readonly tlsUrl: string
}

export async function faultServer(fault: Fault): Promise<FaultServer> {
	const sockets = new Set<Socket>()
	const server = createServer((socket) => {
		sockets.add(socket)
		// A client that is gone before the fault is dealt makes the server's socket fail as well: of no interest here.
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

/** A port at which nobody listens: it was free a moment ago. */
export async function deadPort(): Promise<number> {
	const server = createServer()
	const port = await listen(server)
	await close(server)
	return port
}

const onRequest =
	(answer: (socket: Socket) => void): Fault =>
	(socket) => {
		socket.once('data', () => answer(socket))
	}

const PROMISED = 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n'

export const closeAtOnce: Fault = (socket) => socket.end()
export const resetOnRequest = onRequest((socket) => socket.resetAndDestroy())
export const closeOnRequest = onRequest((socket) => socket.end())
export const closeMidHeaders = onRequest((socket) => socket.end(PROMISED.slice(0, 30)))
export const closeAfterHeaders = onRequest((socket) => socket.end(PROMISED))
export const closeMidBody = onRequest((socket) => socket.end(`${PROMISED}half of it`))
export const stallMidBody = onRequest((socket) => socket.write(`${PROMISED}half of it`))
export const neverAnswers: Fault = (socket) => socket.resume()
/** Beside a client that speaks TLS: its hello is answered by a close. */
export const cutHandshake: Fault = (socket) => closeOnRequest(socket)

/** Answers every request of the connection. */
export const answers =
	(status: number, body = '', headers: Readonly<Record<string, string>> = {}): Fault =>
	(socket) => {
		const lines = Object.entries({ 'content-length': `${Buffer.byteLength(body)}`, ...headers })
		const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
		socket.on('data', () => socket.write(`HTTP/1.1 ${status} Said\r\n${head}\r\n${body}`))
	}

/** `localhost` as a machine with both families resolves it. A failed connect to several addresses is an AggregateError. */
export const bothLoopbacks: LookupFunction = (_host, _options, answer) =>
	answer(null, [
		{ address: '127.0.0.1', family: 4 },
		{ address: '::1', family: 6 },
	])
