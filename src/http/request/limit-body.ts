/** Counts the bytes of response bodies, and limits them, for services that may send a body that never ends, or one that decompresses to gigabytes. */
import { permanent } from '../../core/classify/permanent.ts'
import { YaokiError } from '../../core/errors/errors.ts'
import type { CountBytes } from '../transport/prepared-request.ts'
import { rebuildResponse } from '../transport/rebuild-response.ts'
import type { HttpResponse } from '../transport/transport.ts'

/**
 * A response body exceeds `maxResponseBytes`. The rest was not read, and the connection is closed. Thrown by `text()`, `json()` and the
 * other ways to read the body. It is not retried; raise the limit, or ask for less.
 *
 * @example
 * const error = await response.text().catch((error) => error)
 * if (error instanceof ResponseTooLargeError) console.log(error.policy, error.maxBytes)
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

/** Returns the response with a body that throws beyond the limit, and whose bytes `onBytes` receives, if there is one. */
export function limitBody(
	response: HttpResponse,
	policy: string,
	maxBytes: number,
	onBytes: CountBytes | undefined,
): HttpResponse {
	if (!onBytes && maxBytes === Infinity) return response
	const limit = limitBytes(response.headers, maxBytes, policy)
	return countBody(response, (received, isEnd) => {
		limit(received, isEnd)
		onBytes?.(received, isEnd)
	})
}

/** Returns a function that throws beyond the limit. Decoded bytes are counted: the announced length may be wrong, or be the compressed one. */
function limitBytes(headers: Headers, maxBytes: number, policy: string): CountBytes {
	const announced = Number(headers.get('content-length') ?? 0)
	return (received) => {
		// Permanent: a retry would receive the same body.
		if (received && Math.max(received, announced) > maxBytes)
			throw permanent(new ResponseTooLargeError(policy, maxBytes))
	}
}

/** Returns the response with a body whose bytes are counted while it is read. */
function countBody(response: HttpResponse, onBytes: CountBytes): HttpResponse {
	const reader = response.body?.getReader()
	if (!reader) return response
	let received = 0
	// A byte stream, as that of `fetch`.
	const counted = new ReadableStream({
		type: 'bytes',
		async pull(controller) {
			for (;;) {
				const { done, value } = await reader.read()
				if (!done) received += value.byteLength
				try {
					onBytes(received, done)
				} catch (error) {
					void reader.cancel().catch(() => {})
					throw error
				}
				if (done) {
					controller.close()
					// A reader with its own buffer waits for this response.
					controller.byobRequest?.respond(0)
					return
				}
				// A copy, because the stream takes over the memory, which may be shared. Byte streams reject empty chunks.
				if (value.byteLength > 0) return controller.enqueue(new Uint8Array(value))
			}
		},
		cancel: (reason) => reader.cancel(reason),
	})
	return rebuildResponse(counted, response)
}
