/**
 * Undoes a content-encoding, as `fetch` does by itself. It is built on DecompressionStream and not on Node's zlib, so that
 * nothing here is bound to Node; only compressed bodies pay for the web streams between.
 */
import { chunkStream } from './chunk-stream.ts'

type Bytes = AsyncIterable<Uint8Array>

/** More than anybody needs, and few enough that a body can not be wrapped a thousandfold. */
const MOST_CODINGS = 5

const FORMATS: Readonly<Record<string, string>> = {
	gzip: 'gzip',
	'x-gzip': 'gzip',
	deflate: 'deflate',
	br: 'brotli',
}

/** The bytes as they were before these encodings. With too many, or one that is not known here, they stay as they are. `giveUp` ends the source. */
export function decodeBody(source: Bytes, encoding: string, giveUp: () => void): Bytes {
	const codings = encoding.split(',').map((coding) => coding.trim().toLowerCase())
	if (codings.length > MOST_CODINGS) return source
	const formats = codings.map((coding) => (Object.hasOwn(FORMATS, coding) ? FORMATS[coding] : undefined))
	let bytes = source
	for (const format of formats.reverse()) {
		if (!format || !isSupported(format)) return source
		bytes = decompressed(bytes, format, giveUp)
	}
	return bytes
}

// The runtime decides which formats there are, and the types are behind: Brotli came later.
const decompression = (format: string) => new DecompressionStream(format as CompressionFormat)

function isSupported(format: string): boolean {
	try {
		decompression(format)
		return true
	} catch {
		return false
	}
}

async function* decompressed(source: Bytes, format: string, giveUp: () => void): AsyncGenerator<Uint8Array> {
	const chunks = source[Symbol.asyncIterator]()
	const first = await chunks.next()
	// No bytes at all are not even an empty archive, but servers send them.
	if (first.done) return
	// Half of the servers send deflate without the wrapping that the standard asks for; the first byte tells.
	const isRaw = format === 'deflate' && ((first.value[0] ?? 8) & 15) !== 8
	const compressed = chunkStream(startingWith(first.value, chunks), giveUp)
	const reader = compressed.pipeThrough(decompression(isRaw ? 'deflate-raw' : format)).getReader()
	try {
		for (;;) {
			const { done, value } = await reader.read()
			if (done) return
			yield value
		}
	} finally {
		// After the end it does nothing; before it, nobody wants the rest. The error, if there is one, is already on its way.
		reader.cancel().catch(() => {})
	}
}

async function* startingWith(first: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
	yield first
	yield* { [Symbol.asyncIterator]: () => rest }
}
