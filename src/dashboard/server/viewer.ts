/**
 * One open stream of events. It holds no queue: when the client is ready for more, it gets the state of that moment. A client that does not
 * read keeps at most what the connection had accepted before.
 */
import type { Access } from '../contract.ts'

/** What viewers are sent. */
export interface Latest {
	/** Ascending with each change. 0: nothing is known yet. */
	readonly version: number
	event(access: Access): Uint8Array
}

interface Waiting {
	readonly controller: ReadableStreamDefaultController<Uint8Array>
	readonly resume: () => void
}

export class Viewer {
	readonly stream: ReadableStream<Uint8Array>
	readonly openedAt: number
	readonly #access: Access
	readonly #latest: () => Latest
	#controller: ReadableStreamDefaultController<Uint8Array> | undefined
	#waiting: Waiting | undefined
	#greeting: Uint8Array | undefined
	#sent = 0

	constructor(
		access: Access,
		openedAt: number,
		greeting: Uint8Array,
		latest: () => Latest,
		onLeave: (viewer: Viewer) => void,
	) {
		this.#access = access
		this.openedAt = openedAt
		this.#greeting = greeting
		this.#latest = latest
		this.stream = new ReadableStream<Uint8Array>(
			{
				start: (controller) => {
					this.#controller = controller
				},
				pull: (controller) => this.#pull(controller),
				cancel: () => onLeave(this),
			},
			// Nothing is made before the client asks for it.
			{ highWaterMark: 0 },
		)
	}

	/** True if the client has read everything, and waits for a change. */
	get isWaiting(): boolean {
		return this.#waiting !== undefined
	}

	/** Sends the latest state if the client waits for it. */
	update(): void {
		const latest = this.#latest()
		if (latest.version === this.#sent) return
		this.send(() => {
			this.#sent = latest.version
			return latest.event(this.#access)
		})
	}

	/** Sends a chunk if the client waits. */
	send(chunk: () => Uint8Array): void {
		const waiting = this.#waiting
		this.#waiting = undefined
		waiting?.controller.enqueue(chunk())
		waiting?.resume()
	}

	/** Ends the stream. The client connects again, and `authorize` is asked again. */
	end(): void {
		const waiting = this.#waiting
		this.#waiting = undefined
		if (waiting) waiting.controller.close()
		// Nothing reads to the end, so only an error frees the connection.
		else this.#controller?.error(new Error('The client does not read.'))
		waiting?.resume()
	}

	#pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
		return new Promise((resume) => {
			this.#waiting = { controller, resume }
			const greeting = this.#greeting
			this.#greeting = undefined
			if (greeting) this.send(() => greeting)
			else this.update()
		})
	}
}
