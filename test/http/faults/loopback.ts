/**
 * The part that all servers of this folder share: a port on 127.0.0.1, a count of its connections, and an end after which no
 * handle is open. It wraps any server of Node, since those of HTTP, HTTP/2 and TLS are all servers of node:net underneath.
 */

import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { listen } from '../../support/listen.ts'
import { Ledger } from './ledger.ts'

export class LoopbackServer extends Ledger implements AsyncDisposable {
	readonly #server: Server
	readonly #sockets = new Map<Socket, number>()
	readonly #scheme: 'http' | 'https'
	readonly #failures: unknown[] = []
	#port = 0

	constructor(server: Server, scheme: 'http' | 'https') {
		super()
		this.#server = server
		this.#scheme = scheme
		server.on('connection', (socket) => this.#follow(socket))
	}

	async listen(): Promise<this> {
		this.#port = await listen(this.#server)
		return this
	}

	/** `http://127.0.0.1:port`, without a slash at its end. */
	get origin(): string {
		return `${this.#scheme}://127.0.0.1:${this.#port}`
	}

	url(path: `/${string}` = '/'): string {
		return `${this.origin}${path}`
	}

	/** Closes everything. Rejects with the error of a failed script, which would otherwise look like a network error. */
	async close(): Promise<void> {
		if (!this.#server.listening) return
		const closed = once(this.#server, 'close')
		this.#server.close()
		for (const socket of this.#sockets.keys()) socket.destroy()
		await Promise.all([closed, this.allClosed()])
		this.giveUpWaiting()
		if (this.#failures.length > 0) throw this.#failures[0]
	}

	[Symbol.asyncDispose](): Promise<void> {
		return this.close()
	}

	/** The number of a connection, from 1. */
	protected numberOf(socket: Socket | undefined): number {
		return (socket && this.#sockets.get(socket)) ?? 0
	}

	protected socketFrom(remotePort: number | undefined): Socket | undefined {
		return [...this.#sockets.keys()].find((socket) => socket.remotePort === remotePort)
	}

	/** Runs a step. Its error is stored for `close`, and `drop` must end the client's wait. */
	protected perform(work: () => unknown, drop: () => void): void {
		const fail = (error: unknown) => {
			this.#failures.push(error)
			drop()
		}
		try {
			Promise.resolve(work()).catch(fail)
		} catch (error) {
			fail(error)
		}
	}

	#follow(socket: Socket): void {
		const { connections } = this
		connections.opened++
		connections.open++
		connections.mostOpen = Math.max(connections.mostOpen, connections.open)
		this.#sockets.set(socket, connections.opened)
		// A reset by the client also fails the server's socket: its close is counted.
		socket.on('error', () => {})
		socket.on('close', () => {
			this.#sockets.delete(socket)
			connections.open--
			this.changed()
		})
		this.changed()
	}
}

/** An address without a listener: its port was free a moment ago. */
export async function refusedUrl(scheme: 'http' | 'https' = 'http'): Promise<string> {
	const server = createServer()
	const port = await listen(server)
	server.close()
	await once(server, 'close')
	return `${scheme}://127.0.0.1:${port}/`
}
