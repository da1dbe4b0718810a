/** Recognizes bytes by their shape: a test runner such as Jest has a second `Uint8Array`. */

const isArrayBuffer = (value: unknown): value is ArrayBuffer =>
	Object.prototype.toString.call(value) === '[object ArrayBuffer]'

/** Returns a text in UTF-8, and bytes as they are; undefined for anything else. */
export function toBytes(value: unknown): Uint8Array | undefined {
	if (typeof value === 'string') return new TextEncoder().encode(value)
	if (isArrayBuffer(value)) return new Uint8Array(value)
	return ArrayBuffer.isView(value) && 'fill' in value ? (value as Uint8Array) : undefined
}

/** Joins a text and the bytes after it. */
export function concat(text: string, bytes: Uint8Array): Uint8Array<ArrayBuffer> {
	const head = new TextEncoder().encode(text)
	const all = new Uint8Array(head.length + bytes.length)
	all.set(head)
	all.set(bytes, head.length)
	return all
}
