/**
 * Messages are kept for retries as copies: an application may change a message, or the array of its bytes,
 * after it was sent, and a retry must not send the change. Generators that yield the same object again and
 * again are common.
 *
 * The size is estimated from the values of the fields. Exact sizes would need the encoder of
 * @bufbuild/protobuf, which the interceptor does not have; the encoder that Connect exports
 * (`encodeBinaryHeader`) returns base64, which takes longer than the call itself for large messages. What
 * makes messages large, text and bytes, is estimated well.
 */

/** The tag of a field and its length or value, if it is short. */
const FIELD_BYTES = 2
/** The longest encoding of a number. */
const NUMBER_BYTES = 8

/** Returns the approximate encoded size of a message in bytes. */
export function estimateBytes(value: unknown): number {
	if (typeof value === 'string') return FIELD_BYTES + value.length
	if (typeof value !== 'object' || value === null) return value === undefined ? 0 : FIELD_BYTES + NUMBER_BYTES
	if (ArrayBuffer.isView(value)) return FIELD_BYTES + value.byteLength
	let bytes = FIELD_BYTES
	for (const key in value) bytes += estimateBytes(value[key as keyof typeof value])
	return bytes
}

/** Returns a copy of a message that shares nothing with it. */
export function copyMessage<T>(value: T): T {
	if (typeof value !== 'object' || value === null) return value
	// A copy by `slice` would share the memory of a Buffer.
	if (value instanceof Uint8Array) return new Uint8Array(value) as unknown as T
	if (Array.isArray(value)) return value.map(copyMessage) as unknown as T
	const prototype: object | null = Object.getPrototypeOf(value)
	const copy = prototype === Object.prototype ? { ...value } : Object.assign(Object.create(prototype), value)
	for (const key of Object.keys(copy)) if (typeof copy[key] === 'object') copy[key] = copyMessage(copy[key])
	return copy
}
