/**
 * Reads a body for the cache, up to a limit. Chunks are copied into one growing buffer, so that many small
 * chunks cost no more than one. `clone()` and `tee()` are unsuitable: the unread branch is buffered without
 * limit and without backpressure.
 */

import { type HttpResponse, rebuildResponse } from '../transport/response.ts'

type Bytes = Uint8Array<ArrayBuffer>

/** A response for the caller with an unread body, and its bytes if they do not exceed the limit. */
export interface ReadWhole<R extends HttpResponse> {
	readonly response: R | Response
	readonly bytes: Bytes | undefined
}

/** Content types that may never end; waiting for their end would block the caller. */
const ENDLESS =
	/^(text\/event-stream|multipart\/x-mixed-replace|application\/(x-)?(ndjson|jsonl|json-seq))\b/i

/**
 * Reads a whole body of at most `maxBytes`. A larger one is returned as a stream: the bytes read so far, then
 * the rest as the caller reads. If the headers show a larger or endless body, the given response is returned
 * untouched. Rejects if reading fails.
 */
export async function readWhole<R extends HttpResponse>(
	response: R,
	maxBytes: number,
): Promise<ReadWhole<R>> {
	const { headers, bodyUsed } = response
	// A stream that was read and released looks like an empty body.
	if (bodyUsed) throw new TypeError('The response body has already been read')
	if (Number(headers.get('content-length')) > maxBytes || ENDLESS.test(headers.get('content-type') ?? ''))
		return { response, bytes: undefined }
	const reader = response.body?.getReader()
	if (!reader) return { response, bytes: new Uint8Array(0) }
	let read: Bytes = new Uint8Array(0)
	let length = 0
	for (;;) {
		const { done, value } = await reader.read()
		if (done) break
		if (!ArrayBuffer.isView(value)) throw notBytesError(reader)
		if (length + value.byteLength > maxBytes) {
			const stream = resumedStream([read.subarray(0, length), value], reader)
			return { response: rebuildResponse(stream, response), bytes: undefined }
		}
		read = append(read, length, value)
		length += value.byteLength
	}
	const bytes = read.subarray(0, length)
	return { response: rebuildResponse(bytes, response), bytes }
}

type BodyReader = ReadableStreamDefaultReader<Bytes>

/** Appends a chunk after the first `length` bytes. The first chunk is used without copying. */
function append(read: Bytes, length: number, chunk: Bytes): Bytes {
	if (!length) return chunk
	const needed = length + chunk.byteLength
	let buffer = read
	if (needed > read.byteLength) {
		buffer = new Uint8Array(Math.max(needed, 2 * length))
		buffer.set(read.subarray(0, length))
	}
	buffer.set(chunk, length)
	return buffer
}

/** Returns a stream of the bytes read so far and then the rest. Cancelling it frees the connection. */
function resumedStream(read: readonly Bytes[], reader: BodyReader): ReadableStream<Bytes> {
	return new ReadableStream<Bytes>(
		{
			start(controller) {
				for (const bytes of read) if (bytes.byteLength) controller.enqueue(bytes)
			},
			async pull(controller) {
				const { done, value } = await reader.read()
				if (done) controller.close()
				else controller.enqueue(value)
			},
			cancel: (reason) => reader.cancel(reason),
		},
		{ highWaterMark: 0 },
	)
}

/** A user's `fetch` may return a stream of strings; a `Response` rejects it with the same type of error. */
function notBytesError(reader: BodyReader): TypeError {
	const error = new TypeError('The response body contains chunks that are not bytes')
	reader.cancel(error).catch(() => {})
	return error
}
