/**
 * Reads a body for the cache, up to a limit. What is read is copied into one growing buffer, so that a body in chunks of one byte
 * costs no more than another. `clone()` and `tee()` are of no use: the branch that is not read piles up without a
 * limit, and the caller's can not be slowed down by it.
 */
import type { HttpResponse } from '../transport/transport.ts'
import { rebuildResponse } from './rebuild-response.ts'

type Bytes = Uint8Array<ArrayBuffer>

/** A response for the caller, whose body is still to be read, and its bytes if there are no more than the limit. */
export interface ReadWhole<R extends HttpResponse> {
	readonly response: R | Response
	readonly bytes: Bytes | undefined
}

/** These go on until somebody leaves; to wait for their end is to never answer. */
const ENDLESS =
	/^(text\/event-stream|multipart\/x-mixed-replace|application\/(x-)?(ndjson|jsonl|json-seq))\b/i

/**
 * Reads a body whole if it has at most `maxBytes`. A larger one is given on as a stream: what was read, then the rest, fetched as
 * the caller reads. One that is known to be larger, or that is made to be read piece by piece, is not touched at all, and
 * the response is the given one. Rejects with the error of the body if that breaks off before.
 *
 * @example
 * const { response, bytes } = await readWhole(await fetch(url), 1_000_000)
 * if (bytes) keep(bytes)
 * return response
 */
export async function readWhole<R extends HttpResponse>(
	response: R,
	maxBytes: number,
): Promise<ReadWhole<R>> {
	const { headers, bodyUsed } = response
	// A stream that was read and released again looks like an empty body.
	if (bodyUsed) throw new TypeError('the body of the response has been read already')
	if (Number(headers.get('content-length')) > maxBytes || ENDLESS.test(headers.get('content-type') ?? ''))
		return { response, bytes: undefined }
	const reader = response.body?.getReader()
	if (!reader) return { response, bytes: new Uint8Array(0) }
	let read: Bytes = new Uint8Array(0)
	let length = 0
	for (;;) {
		const { done, value } = await reader.read()
		if (done) break
		if (!ArrayBuffer.isView(value)) throw refused(reader)
		if (length + value.byteLength > maxBytes) {
			const stream = continued([read.subarray(0, length), value], reader)
			return { response: rebuildResponse(stream, response), bytes: undefined }
		}
		read = appended(read, length, value)
		length += value.byteLength
	}
	const bytes = read.subarray(0, length)
	return { response: rebuildResponse(bytes, response), bytes }
}

type BodyReader = ReadableStreamDefaultReader<Bytes>

/** The buffer with a chunk behind its first `length` bytes; another one when it was full. A first chunk is taken as it is. */
function appended(read: Bytes, length: number, chunk: Bytes): Bytes {
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

/** What was read, then what is left. Nothing is fetched ahead of the caller, and a caller who leaves frees the connection. */
function continued(read: readonly Bytes[], reader: BodyReader): ReadableStream<Bytes> {
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

/** A body of texts, say, which a transport of the user's own may give: a `Response` would refuse it with the same type of error. */
function refused(reader: BodyReader): TypeError {
	const error = new TypeError('the body of the response gave something else than bytes')
	reader.cancel(error).catch(() => {})
	return error
}
