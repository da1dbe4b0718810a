/** Bodies of actions: small, and not read before the client was authorized. */
import type { JsonBody } from './exchange.ts'
import { invalid, Rejection } from './rejection.ts'

const MAX_BODY_BYTES = 64_000

/** The rest of a body that is too large is not read, so the connection has no further use. */
const tooLarge = (): Rejection =>
	new Rejection(413, 'too-large', `The body has more than ${MAX_BODY_BYTES} bytes.`, { connection: 'close' })

/** Adds up the chunks of a body, and stops at the limit. */
export class BodyReader {
	readonly #chunks: Uint8Array[] = []
	#bytes = 0

	/** Returns false if the body is too large. */
	add(chunk: Uint8Array): boolean {
		this.#bytes += chunk.byteLength
		if (this.#bytes <= MAX_BODY_BYTES) this.#chunks.push(chunk)
		return this.#bytes <= MAX_BODY_BYTES
	}

	result(): JsonBody | Rejection {
		if (this.#bytes > MAX_BODY_BYTES) return tooLarge()
		const decoder = new TextDecoder()
		const text = this.#chunks.map((chunk) => decoder.decode(chunk, { stream: true })).join('')
		return parse(text + decoder.decode())
	}
}

/** Reads the body of a web request. */
export async function readWebBody(request: Request): Promise<JsonBody | Rejection> {
	const body = new BodyReader()
	const reader = request.body?.getReader()
	for (;;) {
		const chunk = await reader?.read()
		if (!chunk || chunk.done) return body.result()
		if (body.add(chunk.value)) continue
		await reader?.cancel()
		return body.result()
	}
}

/** Returns the body that a parser of the framework has read: a value, its text or its bytes. */
export function parsedBody(parsed: unknown): JsonBody | Rejection {
	const body = new BodyReader()
	if (parsed instanceof Uint8Array) body.add(parsed)
	else
		body.add(new TextEncoder().encode(typeof parsed === 'string' ? parsed : JSON.stringify(parsed ?? null)))
	return body.result()
}

function parse(text: string): JsonBody | Rejection {
	try {
		return { value: JSON.parse(text) }
	} catch {
		return invalid('The body is no JSON.')
	}
}
