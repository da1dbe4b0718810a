/**
 * One request and the means to respond to it, correctly or not. A step uses node:http as long as it follows the rules, and
 * the socket directly when it violates them; both ways count the bytes, and a disconnect of the client ends every wait.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { SeenRequest } from './ledger.ts'

export class Exchange {
	readonly request: SeenRequest
	readonly response: ServerResponse
	readonly socket: Socket
	/** Resolves when the connection is closed, by either side. */
	readonly left: Promise<void>
	/** Resolves when the whole request body has arrived, or the client has disconnected. */
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

	/** The step is done: a later disconnect of the client is not an abort. */
	finish(): void {
		if (this.request.outcome === 'open') this.request.outcome = 'done'
		this.#count()
	}

	/** Sends a piece of the body. Resolves when the operating system has accepted it, with false if the client has disconnected. */
	send(piece: string | Uint8Array): Promise<boolean> {
		return this.#written((taken) => this.response.write(piece, taken))
	}

	/** Sends any bytes, bypassing node:http. */
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
