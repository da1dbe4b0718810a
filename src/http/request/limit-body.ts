/** Limits the size of response bodies, for services that may send a body that never ends, or one that decompresses to gigabytes. */
import { permanent } from '../../core/classify/permanent.ts'
import { YaokiError } from '../../core/errors/errors.ts'
import { rebuildResponse } from '../transport/rebuild-response.ts'
import type { HttpResponse } from '../transport/transport.ts'

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

/** Returns the response with a limited body. Its decoded bytes are counted: the announced length may be wrong, or be the compressed one. */
export function limitBody(response: HttpResponse, maxBytes: number, policy: string): HttpResponse {
	const reader = response.body?.getReader()
	if (!reader) return response
	const announced = Number(response.headers.get('content-length') ?? 0)
	let received = 0
	// A byte stream, as that of `fetch`.
	const limited = new ReadableStream({
		type: 'bytes',
		async pull(controller) {
			for (;;) {
				const { done, value } = await reader.read()
				if (done) {
					controller.close()
					// A reader with its own buffer waits for this response.
					controller.byobRequest?.respond(0)
					return
				}
				received += value.byteLength
				if (Math.max(received, announced) > maxBytes) {
					void reader.cancel().catch(() => {})
					// Permanent: a retry would receive the same body.
					throw permanent(new ResponseTooLargeError(policy, maxBytes))
				}
				// A copy, because the stream takes over the memory, which may be shared. Byte streams reject empty chunks.
				if (value.byteLength > 0) return controller.enqueue(new Uint8Array(value))
			}
		},
		cancel: (reason) => reader.cancel(reason),
	})
	return rebuildResponse(limited, response)
}
