/**
 * One request and the means to answer it, well or badly. A step writes through node:http as long as it keeps to the rules, and
 * straight onto the socket when it breaks them; either way the bytes are counted and a client that left ends every wait.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { SeenRequest } from './ledger.ts'

export class Exchange {
	readonly request: SeenRequest
	readonly response: ServerResponse
	readonly socket: Socket
	/** Resolves when the connection is closed, by whomever. */
	readonly left: Promise<void>
	/** Resolves when the whole body of the request is there, or the client has left. */
	readonly bodyArrived: Promise<void>
	hasLeft = false
	readonly #writtenBefore: number
	readonly #changed: () => void

	constructor(
		request: SeenRequest,
		incoming: IncomingMessage,
		response: ServerResponse,
		changed: () => void,
	) {
		this.request = request
		this.response = response
		this.socket = incoming.socket
		this.#writtenBefore = incoming.socket.bytesWritten
		this.#changed = changed
		this.left = new Promise((resolve) => {
			const leave = () => {
				this.hasLeft = true
				if (request.outcome === 'open') request.outcome = 'aborted'
				this.#count()
				resolve()
			}
			this.socket.once('close', leave)
			response.once('finish', () => {
				this.finish()
				this.socket.off('close', leave)
			})
		})
		const ended = new Promise<void>((resolve) => incoming.once('end', resolve))
		this.bodyArrived = Promise.race([ended, this.left])
		incoming.setEncoding('utf8').on('data', (text: string) => {
			request.body += text
			changed()
		})
	}

	/** What the server meant to do is done: whatever the client does from now on is no abort. */
	finish(): void {
		if (this.request.outcome === 'open') this.request.outcome = 'done'
		this.#count()
	}

	/** Sends a piece of the body. Resolves when the system took it, with false when the client has left instead. */
	send(piece: string | Uint8Array): Promise<boolean> {
		return this.#written((taken) => this.response.write(piece, taken))
	}

	/** Sends bytes past node:http, whatever they are. */
	sendRaw(bytes: string | Uint8Array): Promise<boolean> {
		return this.#written((taken) => this.socket.write(bytes, taken))
	}

	async sendHead(status: number, headers: Readonly<Record<string, string>>): Promise<boolean> {
		this.response.writeHead(status, headers)
		this.response.flushHeaders()
		return this.sendRaw('')
	}

	async #written(write: (taken: () => void) => void): Promise<boolean> {
		if (this.hasLeft) return false
		await Promise.race([new Promise<void>(write), this.left])
		this.#count()
		return !this.hasLeft
	}

	#count(): void {
		this.request.bytesWritten = this.socket.bytesWritten - this.#writtenBefore
		this.#changed()
	}
}
