/**
 * A server on loopback with scripted faults, for clients on real sockets: a mock of `fetch` would throw what its author
 * believes a network throws. node:http reads the requests, and the steps decide how the response is sent.
 *
 * @example
 * await using server = await startFaultServer([reset('body'), answer({ body: 'fine' })])
 * await client.get(server.url('/orders'))
 * expect(server.requests).toHaveLength(2)
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTcpServer, type Socket } from 'node:net'
import { Exchange } from './exchange.ts'
import type { SeenRequest } from './ledger.ts'
import { LoopbackServer } from './loopback.ts'
import { type Cast, cast, type Script } from './script.ts'
import { answer, type Step } from './steps.ts'

export { deferred } from '../deferred.ts'
export { chunkedGarbage, hugeBody, malformedHead, trickleHead, wrongLength } from './broken-steps.ts'
export { refusedUrl } from './loopback.ts'
export { answer, drip, fin, hang, type Phase, reset, type Step } from './steps.ts'

export class FaultServer extends LoopbackServer {
	#cast: Cast<Step>
	/** Connections with a fault on accept. A client may still write to a half-closed one. */
	readonly #struck = new WeakSet<Socket>()

	constructor(script: Script<Step>) {
		// No timeouts of the server itself: the script or the client ends a request.
		const server = createServer({ keepAliveTimeout: 0, requestTimeout: 0, headersTimeout: 0 })
		super(server, 'http')
		this.#cast = cast(script)
		server.on('connection', (socket: Socket) => this.#accept(socket))
		server.on('request', (incoming, response) => this.#request(incoming, response))
	}

	/** Starts another script for further requests and connections. */
	play(script: Script<Step>): void {
		this.#cast = cast(script)
	}

	#accept(socket: Socket): void {
		const atAccept = this.#cast.peek()?.atAccept
		if (atAccept === undefined) return
		this.#cast.drop()
		this.#struck.add(socket)
		atAccept(socket)
	}

	#request(incoming: IncomingMessage, response: ServerResponse): void {
		const { method = '', url: path = '', headers, socket } = incoming
		if (this.#struck.has(socket)) return
		const seen = { n: this.requests.length + 1, connection: this.numberOf(socket), method, path, headers }
		const request: SeenRequest = { ...seen, body: '', bytesWritten: 0, outcome: 'open' }
		this.requests.push(request)
		const exchange = new Exchange(request, incoming, response, () => this.changed())
		this.changed()
		this.perform(
			() => this.#cast.take(request).play(exchange),
			() => socket.destroy(),
		)
	}
}

/** Starts a server that plays a script; without one it responds with 200 to everything. */
export function startFaultServer(script: Script<Step> = answer()): Promise<FaultServer> {
	return new FaultServer(script).listen()
}

/** Starts a server that resets the connection at the first byte of the client's TLS hello, or never responds. */
export function startTlsFaultServer(fault: 'reset' | 'fin' | 'hang' = 'reset'): Promise<LoopbackServer> {
	const server = createTcpServer((socket) => {
		socket.on('data', () => {
			if (fault === 'reset') socket.resetAndDestroy()
			if (fault === 'fin') socket.end()
		})
	})
	return new LoopbackServer(server, 'https').listen()
}
