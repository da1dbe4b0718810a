import { ed25519Signer } from './ed25519.ts'
import { createHmac } from './hmac.ts'
import { readSigningKeys, type SigningKey } from './secrets.ts'

/**
 * Returns the value of `webhook-signature`: a string if all secrets are for HMAC and the runtime has
 * `node:crypto`, otherwise a promise.
 */
export type Signer = (id: string, timestampSeconds: number, body: Uint8Array) => string | Promise<string>

/**
 * Creates a function that signs with all of these secrets. Keep it: reading the secrets costs more than a
 * signature. Throws an InvalidArgumentError if a secret cannot sign. The id must be one that `isWebhookId`
 * accepts.
 */
export function createSigner(secrets: string | readonly string[]): Signer {
	const [first, ...others] = readSigningKeys(secrets).map(signerOf)
	// One secret is the usual case, and needs no list.
	if (first && others.length === 0) return first
	const signers = first ? [first, ...others] : others
	return (id, timestampSeconds, body) => {
		const signatures = signers.map((sign) => sign(id, timestampSeconds, body))
		return signatures.every((signature) => typeof signature === 'string')
			? signatures.join(' ')
			: Promise.all(signatures).then((all) => all.join(' '))
	}
}

/** Returns the text before the body in what is signed. */
export const signedHead = (id: string, timestamp: number | string): string => `${id}.${timestamp}.`

function signerOf(key: SigningKey): Signer {
	if (key.type === 'private') {
		const sign = ed25519Signer(key.bytes)
		return async (id, time, body) => `v1a,${await sign(signedHead(id, time), body)}`
	}
	const hmac = createHmac(key.bytes)
	return (id, time, body) => {
		const signature = hmac(signedHead(id, time), body, 'base64')
		return typeof signature === 'string' ? `v1,${signature}` : signature.then((text) => `v1,${text}`)
	}
}
