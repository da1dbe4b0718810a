/**
 * HMAC-SHA256 of a text and the bytes after it. Where the runtime has `node:crypto`, the result is
 * synchronous: a sender signs many small bodies, and a promise costs more than the hash. `node:crypto` is not
 * imported, because this folder runs where it does not exist.
 *
 * The secret becomes a key object once. With the bytes of the secret, each `createHmac` would create one, and
 * a signature of 1 kB would cost four times as much. An HMAC of two one-shot hashes with precomputed pads is
 * faster by a third, but then this package would implement HMAC itself.
 */
import { encodeBase64 } from './base64.ts'
import { concat } from './bytes.ts'

export type DigestEncoding = 'base64' | 'hex'

/** Returns the HMAC of the text and the body with one secret. */
export type Hmac = (text: string, body: Uint8Array, encoding: DigestEncoding) => string | Promise<string>

interface NodeHmac {
	update(data: string | Uint8Array): NodeHmac
	digest(encoding: DigestEncoding): string
}
interface NodeCrypto {
	createSecretKey(secret: Uint8Array): object
	createHmac(algorithm: 'sha256', key: object): NodeHmac
}
interface Global {
	readonly process?: { getBuiltinModule?(name: 'node:crypto'): NodeCrypto | undefined }
}

const nodeCrypto = (globalThis as Global).process?.getBuiltinModule?.('node:crypto')

export const createHmac = (secret: Uint8Array<ArrayBuffer>): Hmac =>
	nodeCrypto ? nodeHmac(nodeCrypto, secret) : webHmac(secret)

function nodeHmac(crypto: NodeCrypto, secret: Uint8Array): Hmac {
	const key = crypto.createSecretKey(secret)
	return (text, body, encoding) => crypto.createHmac('sha256', key).update(text).update(body).digest(encoding)
}

export function webHmac(secret: Uint8Array<ArrayBuffer>): Hmac {
	let key: Promise<CryptoKey> | undefined
	return async (text, body, encoding) => {
		key ??= crypto.subtle.importKey('raw', secret, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
		const digest = new Uint8Array(await crypto.subtle.sign('HMAC', await key, concat(text, body)))
		return encoding === 'base64' ? encodeBase64(digest) : toHex(digest)
	}
}

const toHex = (bytes: Uint8Array): string =>
	Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')

/** Compares two texts in a time that depends on their lengths only. */
export function equalInConstantTime(one: string, other: string): boolean {
	if (one.length !== other.length) return false
	let difference = 0
	for (let at = 0; at < one.length; at++) difference |= one.charCodeAt(at) ^ other.charCodeAt(at)
	return difference === 0
}
