/**
 * SHA-256 in base64url. Where the runtime has `node:crypto` the result is synchronous and costs about a
 * microsecond; WebCrypto, which every runtime has, returns a promise and costs ten. `node:crypto` is not
 * imported, because then bundles for browsers and the edge would need it.
 */
import { builtinModule } from '../../sql/node-modules.ts'

interface NodeHash {
	update(data: string | Uint8Array): NodeHash
	digest(encoding: 'base64url'): string
}
interface NodeCrypto {
	/** Missing before Node 20.12. Needs a third of the time of `createHash`. */
	hash?(algorithm: 'sha256', data: string, encoding: 'base64url'): string
	createHash(algorithm: 'sha256'): NodeHash
}

const nodeCrypto = builtinModule<NodeCrypto>('node:crypto')

/** Hashes a text, and the bytes after it. The text must say by itself where it ends, as JSON does. */
export function sha256(text: string, bytes?: Uint8Array): string | Promise<string> {
	if (!nodeCrypto) return webSha256(text, bytes)
	if (!bytes && nodeCrypto.hash) return nodeCrypto.hash('sha256', text, 'base64url')
	const hash = nodeCrypto.createHash('sha256').update(text)
	return (bytes ? hash.update(bytes) : hash).digest('base64url')
}

export async function webSha256(text: string, bytes: Uint8Array = NO_BYTES): Promise<string> {
	const head = new TextEncoder().encode(text)
	const all = new Uint8Array(head.length + bytes.length)
	all.set(head)
	all.set(bytes, head.length)
	const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', all))
	// 32 bytes are 43 characters and one of padding.
	return btoa(String.fromCharCode(...digest))
		.slice(0, 43)
		.replaceAll('+', '-')
		.replaceAll('/', '_')
}

const NO_BYTES = new Uint8Array(0)
