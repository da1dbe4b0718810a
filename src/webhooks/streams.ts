/** Reads the stream of a body up to a limit, so that a sender without a secret cannot fill the memory. */
import { toBytes } from './bytes.ts'
import { WebhookVerificationError } from './errors.ts'

export interface WebStream {
	readonly locked: boolean
	getReader(): {
		read(): Promise<{ readonly done: boolean; readonly value?: unknown }>
		cancel(): Promise<unknown>
	}
}

export interface NodeStream {
	readonly destroyed?: boolean | undefined
	on(event: string, listener: (value: unknown) => void): unknown
	off(event: string, listener: (value: unknown) => void): unknown
	resume(): unknown
}

class Chunks {
	readonly #chunks: Uint8Array[] = []
	#size = 0

	/** Returns how many bytes there are. */
	add(chunk: Uint8Array): number {
		this.#chunks.push(chunk)
		this.#size += chunk.length
		return this.#size
	}

	join(): Uint8Array {
		const all = new Uint8Array(this.#size)
		let at = 0
		for (const chunk of this.#chunks) {
			all.set(chunk, at)
			at += chunk.length
		}
		return all
	}
}

const incomplete = (cause: unknown): WebhookVerificationError =>
	new WebhookVerificationError('body-incomplete', 'The body of the request ended early', { cause })

/** Returns undefined if the body is too large. */
export async function readWebStream(stream: WebStream, maxBytes: number): Promise<Uint8Array | undefined> {
	const reader = stream.getReader()
	const chunks = new Chunks()
	for (;;) {
		const { done, value } = await reader.read().catch((cause) => {
			throw incomplete(cause)
		})
		if (done) return chunks.join()
		if (chunks.add(toBytes(value) ?? NO_BYTES) <= maxBytes) continue
		// Not awaited: a stream may never confirm it.
		reader.cancel().catch(() => {})
		return undefined
	}
}

const NO_BYTES = new Uint8Array(0)

/** Returns undefined if the body is too large. The rest is then discarded, so that the response can be sent. */
export function readNodeStream(stream: NodeStream, maxBytes: number): Promise<Uint8Array | undefined> {
	return new Promise((resolve, reject) => {
		const chunks = new Chunks()
		const stop = () => {
			stream.off('data', onData)
			stream.off('end', onEnd)
			stream.off('close', onBroken)
		}
		const onData = (chunk: unknown) => {
			if (chunks.add(toBytes(chunk) ?? NO_BYTES) <= maxBytes) return
			stop()
			stream.resume()
			resolve(undefined)
		}
		const onEnd = () => {
			stop()
			resolve(chunks.join())
		}
		const onBroken = (cause: unknown) => {
			stop()
			reject(incomplete(cause))
		}
		if (stream.destroyed) return onBroken(undefined)
		stream.on('data', onData)
		stream.on('end', onEnd)
		stream.on('close', onBroken)
		// Stays: an error event without a listener ends the process.
		stream.on('error', onBroken)
	})
}
