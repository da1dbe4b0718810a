/** Chunks of a stream as bytes. */

interface NodeBuffer {
	from(text: string, encoding?: string): Uint8Array
}

/** Looked up by name, because the package runs where it does not exist. */
const nodeBuffer = (globalThis as { Buffer?: NodeBuffer }).Buffer

export type Chunk = string | Uint8Array

/** By shape, because a test runner such as Jest has a second `Uint8Array`. */
export const isChunk = (value: unknown): value is Chunk =>
	typeof value === 'string' || (ArrayBuffer.isView(value) && 'byteLength' in value && 'fill' in value)

/** Returns the bytes of a chunk. They are a copy: streams write into the same buffer again. */
export function copiedBytes(chunk: Chunk, encoding: unknown): Uint8Array {
	if (typeof chunk !== 'string') return new Uint8Array(chunk)
	if (!nodeBuffer) return new TextEncoder().encode(chunk)
	return nodeBuffer.from(chunk, typeof encoding === 'string' ? encoding : 'utf8')
}
