/** Counts and limits the bytes of response bodies: a body may never end, or decompress to gigabytes. */
import { permanent } from '../../core/classify/permanent.ts'
import { YaokiError } from '../../core/errors/errors.ts'
import {
	type CountBytes,
	type HttpResponse,
	type ReportProgress,
	rebuildResponse,
} from '../transport/response.ts'

/**
 * A response body exceeds `maxResponseBytes`. The rest was not read, and the connection is closed. Thrown by
 * `text()`, `json()` and the other ways to read the body. It is not retried; raise the limit, or ask for
 * less.
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

/** Returns the response with a body that throws beyond the limit. `onBytes` receives its bytes. */
export function limitBody(
	response: HttpResponse,
	policy: string,
	maxBytes: number = Infinity,
	onBytes?: CountBytes,
): HttpResponse {
	const reader = maxBytes < Infinity || onBytes ? response.body?.getReader() : undefined
	if (!reader) return response
	// The limit is for decoded bytes, and `content-length` may be wrong.
	const announced = Number(response.headers.get('content-length') ?? 0)
	let received = 0
	// A byte stream, because `fetch` returns byte streams.
	const counted = new ReadableStream({
		type: 'bytes',
		async pull(controller) {
			for (;;) {
				const { done, value } = await reader.read()
				if (!done) received += value.byteLength
				try {
					// Permanent: a retry would receive the same body.
					if (received && Math.max(received, announced) > maxBytes)
						throw permanent(new ResponseTooLargeError(policy, maxBytes))
					onBytes?.(received, done)
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
				// A copy, because the stream takes over the memory, which may be shared. Byte streams reject empty
				// chunks.
				if (value.byteLength > 0) return controller.enqueue(new Uint8Array(value))
			}
		},
		cancel: (reason) => reader.cancel(reason),
	})
	return rebuildResponse(counted, response)
}

/** The shortest time between two events of one download. A fast body has thousands of chunks a second. */
export const PROGRESS_INTERVAL_MS = 100

/** Emits how much of a body has arrived: after each interval, and at the end. */
export const reportProgress: ReportProgress = (layer, call, bound, headers) => {
	const { runtime } = bound
	// The length of a compressed body says nothing about the bytes that are counted.
	const length = headers.has('content-encoding') ? null : headers.get('content-length')
	let emittedAt = runtime.now()
	return (receivedBytes, isEnd) => {
		const now = runtime.now()
		if (!isEnd && now - emittedAt < PROGRESS_INTERVAL_MS) return
		emittedAt = now
		const total = length === null ? {} : { totalBytes: Number(length) }
		layer.emit?.(call, bound, { type: 'download_progress', receivedBytes, ...total })
	}
}
