/** Limits the size of response bodies, for services that may send a body that never ends, or one that decompresses to gigabytes. */
import { permanent } from '../../core/classify/permanent.ts'
import { YaokiError } from '../../core/errors/errors.ts'
import { chunkStream } from '../transport/decode.ts'
import { rebuildResponse } from '../transport/rebuild-response.ts'
import { type HttpResponse, headerOf, isObservable } from '../transport/transport.ts'

/**
 * A response body exceeds `maxResponseBytes`. The rest was not read, and the connection is closed. Thrown by `text()`, `json()` and the
 * other ways to read the body.
 *
 * @example
 * if (error.code === 'YAOKI_RESPONSE_TOO_LARGE') console.log(error.policy, error.maxBytes)
 */
export class ResponseTooLargeError extends YaokiError {
	override readonly name = 'ResponseTooLargeError'
	/** The origin. */
	readonly policy: string
	readonly maxBytes: number

	/** @internal */
	constructor(policy: string, maxBytes: number) {
		super('YAOKI_RESPONSE_TOO_LARGE', `${policy}: the response body exceeds ${maxBytes} bytes`)
		this.policy = policy
		this.maxBytes = maxBytes
	}
}

type Bytes = AsyncIterable<Uint8Array>

/** Returns the response with a limited body. Its decoded bytes are counted: the announced length may be wrong, or be the compressed one. */
export function limitBody(response: HttpResponse, maxBytes: number, policy: string): HttpResponse {
	const announced = Number(headerOf(response, 'content-length') ?? 0)
	const limit = (chunks: Bytes) => limitBytes(chunks, maxBytes, announced, policy)
	if (isObservable(response)) {
		response.pipeBody?.(limit)
		return response
	}
	const reader = response.body?.getReader()
	if (!reader) return response
	const cancel = () => void reader.cancel().catch(() => {})
	return rebuildResponse(chunkStream(limit(chunksOf(reader, cancel)), cancel), response)
}

async function* limitBytes(
	chunks: Bytes,
	maxBytes: number,
	announced: number,
	policy: string,
): AsyncGenerator<Uint8Array> {
	let received = 0
	// An error inside the loop also ends the source.
	for await (const chunk of chunks) {
		received += chunk.byteLength
		// Permanent: a retry would receive the same body.
		if (Math.max(received, announced) > maxBytes) throw permanent(new ResponseTooLargeError(policy, maxBytes))
		yield chunk
	}
}

async function* chunksOf(
	reader: ReadableStreamDefaultReader<Uint8Array>,
	cancel: () => void,
): AsyncGenerator<Uint8Array> {
	try {
		for (;;) {
			const { done, value } = await reader.read()
			if (done) return
			yield value
		}
	} finally {
		cancel()
	}
}
