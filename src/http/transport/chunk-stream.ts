/**
 * A web stream of bytes out of chunks that come one after another. `ReadableStream.from` would do, but it gives no stream
 * of bytes, as `fetch` does, and hands out chunks that share their memory with those of other responses.
 */

/**
 * `onCancel` ends the source when the reader gives up: it may be in the middle of waiting for a chunk, and then asking the
 * iterator itself to return would wait as well. `onRead` hears that somebody reads.
 */
export function chunkStream(
	source: AsyncIterable<Uint8Array>,
	onCancel: () => void,
	onRead?: () => void,
): ReadableStream<Uint8Array<ArrayBuffer>> {
	const chunks = source[Symbol.asyncIterator]()
	return new ReadableStream({
		type: 'bytes',
		async pull(controller) {
			onRead?.()
			for (;;) {
				const { done, value } = await chunks.next()
				if (done) {
					controller.close()
					// A reader that brought its own buffer waits for an answer of its own.
					controller.byobRequest?.respond(0)
					return
				}
				// Empty chunks are refused by streams of bytes.
				if (value.byteLength > 0) return controller.enqueue(new Uint8Array(value))
			}
		},
		cancel: onCancel,
	})
}
