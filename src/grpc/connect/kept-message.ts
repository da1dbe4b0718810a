import type { BufferLimit } from '../policy/buffer-limit.ts'
import { copyMessage, estimateBytes } from './message-copy.ts'

/** The request message of a unary call, kept for retries. */
export class KeptMessage {
	readonly message: unknown
	readonly #limit: BufferLimit
	#reservedBytes: number

	private constructor(message: unknown, limit: BufferLimit, bytes: number) {
		this.message = copyMessage(message)
		this.#limit = limit
		this.#reservedBytes = bytes
	}

	/** Returns undefined if the message does not fit into the buffer. */
	static keep(message: unknown, limit: BufferLimit): KeptMessage | undefined {
		const bytes = estimateBytes(message)
		return limit.reserve(bytes, 0) ? new KeptMessage(message, limit, bytes) : undefined
	}

	/** The call has ended. */
	close(): void {
		this.releaseSpace()
	}

	releaseSpace(): void {
		this.#limit.release(this.#reservedBytes)
		this.#reservedBytes = 0
	}
}
