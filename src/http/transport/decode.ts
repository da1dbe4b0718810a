/**
 * Decodes a content-encoding, as `fetch` does. It uses DecompressionStream instead of Node's zlib, so that nothing here depends on Node.
 * Only compressed bodies pay for the web streams in between.
 */

type Bytes = AsyncIterable<Uint8Array>

/** Limits the work that a malicious response with nested encodings can cause. */
const MAX_ENCODINGS = 5

const FORMATS: Readonly<Record<string, string>> = {
	gzip: 'gzip',
	'x-gzip': 'gzip',
	deflate: 'deflate',
	br: 'brotli',
}

/** Returns the decoded bytes. With too many or unknown encodings, the source is returned unchanged. `cancel` ends the source. */
export function decodeBody(source: Bytes, encoding: string, cancel: () => void): Bytes {
	const encodings = encoding.split(',').map((name) => name.trim().toLowerCase())
	if (encodings.length > MAX_ENCODINGS) return source
	const formats = encodings.map((name) => (Object.hasOwn(FORMATS, name) ? FORMATS[name] : undefined))
	let bytes = source
	for (const format of formats.reverse()) {
		if (!format || !isSupported(format)) return source
		bytes = decompress(bytes, format, cancel)
	}
	return bytes
}

// Which formats exist depends on the runtime; the types do not know Brotli yet.
const decompression = (format: string) => new DecompressionStream(format as CompressionFormat)

function isSupported(format: string): boolean {
	try {
		decompression(format)
		return true
	} catch {
		return false
	}
}

async function* decompress(source: Bytes, format: string, cancel: () => void): AsyncGenerator<Uint8Array> {
	const chunks = source[Symbol.asyncIterator]()
	const first = await chunks.next()
	// Servers send empty bodies with a content-encoding, though zero bytes are not a valid archive.
	if (first.done) return
	// Many servers send deflate without the zlib header that the standard requires; the first byte shows it.
	const isRaw = format === 'deflate' && ((first.value[0] ?? 8) & 15) !== 8
	const compressed = chunkStream(prepend(first.value, chunks), cancel)
	const reader = compressed.pipeThrough(decompression(isRaw ? 'deflate-raw' : format)).getReader()
	try {
		for (;;) {
			const { done, value } = await reader.read()
			if (done) return
			yield value
		}
	} finally {
		// Has no effect after the end. An error, if any, is already being thrown.
		reader.cancel().catch(() => {})
	}
}

async function* prepend(first: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
	yield first
	yield* { [Symbol.asyncIterator]: () => rest }
}

/**
 * Returns a byte stream over chunks. `ReadableStream.from` does not create a byte stream, as `fetch` does, and passes on chunks that share
 * memory with other responses. `onCancel` must end the source itself: the iterator's `return` would wait for the pending chunk.
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
					// A reader with its own buffer waits for this response.
					controller.byobRequest?.respond(0)
					return
				}
				// Byte streams reject empty chunks.
				if (value.byteLength > 0) return controller.enqueue(new Uint8Array(value))
			}
		},
		cancel: onCancel,
	})
}
