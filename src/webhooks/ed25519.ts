/** Ed25519 signatures of a text and the bytes after it, with WebCrypto, which every supported runtime has. */
import { decodeBase64, encodeBase64 } from './base64.ts'
import { concat } from './bytes.ts'

const ALGORITHM = 'Ed25519'

export const SEED_BYTES = 32
export const PUBLIC_KEY_BYTES = 32

/** What precedes the seed in PKCS #8, the only format of a private key that WebCrypto reads without the public key. */
const PKCS8_HEAD = Uint8Array.of(48, 46, 2, 1, 0, 48, 5, 6, 3, 43, 101, 112, 4, 34, 4, 32)

/** Returns a function that signs with the private key of this seed. The result is base64. */
export function ed25519Signer(seed: Uint8Array): (text: string, body: Uint8Array) => Promise<string> {
	let key: Promise<CryptoKey> | undefined
	return async (text, body) => {
		key ??= crypto.subtle.importKey('pkcs8', pkcs8(seed), ALGORITHM, false, ['sign'])
		return encodeBase64(new Uint8Array(await crypto.subtle.sign(ALGORITHM, await key, concat(text, body))))
	}
}

function pkcs8(seed: Uint8Array): Uint8Array<ArrayBuffer> {
	const all = new Uint8Array(PKCS8_HEAD.length + SEED_BYTES)
	all.set(PKCS8_HEAD)
	all.set(seed, PKCS8_HEAD.length)
	return all
}

/** Returns a function that checks a signature in base64. */
export function ed25519Verifier(
	publicKey: Uint8Array<ArrayBuffer>,
): (signature: string, text: string, body: Uint8Array) => Promise<boolean> {
	let key: Promise<CryptoKey> | undefined
	return async (signature, text, body) => {
		const bytes = decodeBase64(signature)
		if (bytes === undefined) return false
		key ??= crypto.subtle.importKey('raw', publicKey, ALGORITHM, false, ['verify'])
		return crypto.subtle.verify(ALGORITHM, await key, bytes, concat(text, body))
	}
}

/** Returns the seed and the public key of a new key pair. */
export async function generateEd25519(): Promise<{ seed: Uint8Array; publicKey: Uint8Array }> {
	const { privateKey, publicKey } = (await crypto.subtle.generateKey(ALGORITHM, true, [
		'sign',
		'verify',
	])) as CryptoKeyPair
	const exported = await crypto.subtle.exportKey('pkcs8', privateKey)
	return {
		// Some runtimes append the public key, so the seed is not always at the end.
		seed: new Uint8Array(exported).slice(PKCS8_HEAD.length, PKCS8_HEAD.length + SEED_BYTES),
		publicKey: new Uint8Array(await crypto.subtle.exportKey('raw', publicKey)),
	}
}
